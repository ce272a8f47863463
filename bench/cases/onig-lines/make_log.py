"""A log of 24,000 lines of 120 words: half end with a limit, and one of 24 with one that has no number."""

import random
import sys
from pathlib import Path

random.seed(11)
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(2000)]
ends = (*["limit=20;"] * 12, *["size=20;"] * 11, "limit=none;")
lines = (" ".join([*random.choices(words, k=120), ends[number % len(ends)]]) + "\n" for number in range(24_000))
(Path(sys.argv[1]) / "log.txt").write_text("".join(lines))
