"""A file and its successor with nothing in common: every place of the one is sought among the blocks of the other."""

import random
import sys
from pathlib import Path


def main(folder: Path) -> None:
    chance = random.Random(1)
    (folder / "new").write_bytes(chance.randbytes(12_000_000))
    (folder / "old").write_bytes(chance.randbytes(40_000_000))


main(Path(sys.argv[1]))
