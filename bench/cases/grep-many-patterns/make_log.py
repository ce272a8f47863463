"""A log, and forty expressions for names that are looked for in it."""

import random
import sys
from pathlib import Path

chance = random.Random(5)
home = Path(sys.argv[1])
words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(4, 9))) for _ in range(3000)]
lines = (" ".join(chance.choices(words, k=12)) + f" {chance.getrandbits(20)}\n" for _ in range(80_000))
(home / "log.txt").write_text("".join(lines))
(home / "names.txt").write_text("".join(f"{word}[a-z]* [a-z]+\n" for word in words[:40]))
