"""Makes a text of 30 KB."""

import sys
from pathlib import Path

words = ["amount", "of", "the", "seventh", "part", "is", "due", "by", "Friday", "next"]
lines = (" ".join(words[(n * 7 + k * 3) % 10] for k in range(12)) for n in range(500))
(Path(sys.argv[1]) / "text").write_text("\n".join(lines) + "\n")
