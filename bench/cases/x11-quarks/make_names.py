"""3,000 names of 23 letters each: of random ones, or the same 18 and a number."""

import random
import sys
from pathlib import Path

random.seed(10)
folder = Path(sys.argv[1])
names = ("".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=23)) for _ in range(3000))
(folder / "random.txt").write_text("".join(f"{name}\n" for name in names))
(folder / "numbered.txt").write_text("".join(f"windowOfTheDesktop{number:05d}\n" for number in range(3000)))
