"""A script that counts visits in a dictionary, and what it reads: names of one length, with or without equal hashes."""

import itertools
import random
import sys
from pathlib import Path

BLOCKS, VISITS = 11, 60_000


def main(folder: Path) -> None:
    # A letter counts nine times as much as the one before it: one more there is nine less here.
    for name, other in {"spread": "mz", "equal": "vl"}.items():
        chance = random.Random(1)
        names = ["".join(parts) for parts in itertools.product(("mm", other), repeat=BLOCKS)]
        (folder / f"{name}.txt").write_text("".join(f"{chance.choice(names)}\n" for _ in range(VISITS)))


main(Path(sys.argv[1]))
