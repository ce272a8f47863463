"""A program of 3,000 variables and 24,000 sums of seven, twice: names differ at their beginning, or at their end."""

import itertools
import sys
from pathlib import Path

VARIABLES, SUMS = 3_000, 24_000


def source(names: list[str]) -> str:
    sets = (f"{name} = {number}" for number, name in enumerate(names))
    places = (number * 7919 for number in range(SUMS))
    sums = (" .word " + "+".join(names[(place + step * 31) % VARIABLES] for step in range(7)) for place in places)
    return "\n".join(["* = $1000", *sets, *sums]) + "\n"


def main(folder: Path) -> None:
    letters = ["".join(word) for word in itertools.islice(itertools.product("bcdfghklmnoprst", repeat=3), VARIABLES)]
    (folder / "beginning.asm").write_text(source([f"{word[::-1]}speed" for word in letters]))
    (folder / "end.asm").write_text(source([f"speed{word}" for word in letters]))


main(Path(sys.argv[1]))
