"""Two pairs of images, code and empty space: a mark of two bytes is before the space of the old one, or after it."""

import random
import sys
from pathlib import Path

random.seed(11)
folder = Path(sys.argv[1])
code, added, space, mark = random.randbytes(1_500_000), random.randbytes(1000), bytes(65_000), b"\1\0"
(folder / "old-before.img").write_bytes(code + mark + space)
(folder / "old-after.img").write_bytes(code + space + mark)
(folder / "new.img").write_bytes(code[:-10] + added + space)
