"""Lines that look like settings, most of which are none."""

import random
import sys
from pathlib import Path

chance = random.Random(9)
letters = "abcdefghijklmnopqrstuvwxyz"
lines = []
for number in range(500_000):
    name = "".join(chance.choices(letters, k=chance.randint(3, 7)))
    lines.append(f"{name}={number}" if number % 10 == 0 else f"{name}:{number}")
(Path(sys.argv[1]) / "settings.txt").write_text("\n".join(lines) + "\n")
