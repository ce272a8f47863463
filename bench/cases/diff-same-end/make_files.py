"""Two versions of a long listing: its first part was edited here and there, all the rest is the same."""

import random
import sys
from pathlib import Path

EDITED = 110_000
SAME = 1_700_000


def main(folder: Path) -> None:
    chance = random.Random(7)
    lines = [f"{number:08d} {chance.getrandbits(64):016x} entry\n" for number in range(EDITED + SAME)]
    edited = [line.replace("entry", "changed") if chance.random() < 0.3 else line for line in lines[:EDITED]]
    (folder / "old.txt").write_text("".join(lines))
    (folder / "new.txt").write_text("".join(edited + lines[EDITED:]))


main(Path(sys.argv[1]))
