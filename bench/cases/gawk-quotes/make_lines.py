"""35,000 lines: an identifier and 30 words."""

import random
import sys
from pathlib import Path

random.seed(10)
words = ["".join(random.choices("abcdefghijklmnop", k=random.randrange(3, 9))) for _ in range(3000)]
with (Path(sys.argv[1]) / "lines.txt").open("w") as lines:
    lines.writelines(f"id{number:06d} {' '.join(random.choices(words, k=30))}\n" for number in range(35_000))
