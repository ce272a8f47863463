"""1,500 lines of the letters a and b in no order, each with a c or d at its end."""

import random
import sys
from pathlib import Path

chance = random.Random(1)
with (Path(sys.argv[1]) / "lines.txt").open("w") as file:
    for _ in range(1_500):
        file.write(f"{chance.getrandbits(60):060b}".replace("0", "a").replace("1", "b") + chance.choice("cd") + "\n")
