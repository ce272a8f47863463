"""Three versions of a file: 250,000 lines of words, and a table of 12,000 lines with numbers in columns of eight."""

import random
import sys
from pathlib import Path

random.seed(10)
letters = "abcdefghijklmnopqrstuvwxyz    "
text = ["".join(random.choices(letters, k=30)) + "\n" for _ in range(250_000)]
table = ["".join(f"{random.randrange(100, 1000):8d}" for _ in range(4)) + "\n" for _ in range(12_000)]
folder = Path(sys.argv[1])
(folder / "before.txt").write_text("".join(text + table))
(folder / "ours.txt").write_text("".join([*text[:100], "one more line of ours\n", *text[100:], *table]))
(folder / "theirs.txt").write_text("".join([*text[:200_000], "one more line of theirs\n", *text[200_000:], *table]))
