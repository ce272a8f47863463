"""A table of three columns, to be read line by line."""

import random
import sys
from pathlib import Path

LINES = 120_000


def main(folder: Path) -> None:
    chance = random.Random(1)
    rows = (f"item-{number:06d} {chance.randrange(100)} {'some words about it ' * 4}\n" for number in range(LINES))
    (folder / "table").write_text("".join(rows))


main(Path(sys.argv[1]))
