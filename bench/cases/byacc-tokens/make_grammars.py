"""A grammar with 4,096 tokens, twice: their names are of one length, with or without equal hashes."""

import itertools
import sys
from pathlib import Path

BLOCKS, TYPES = 12, 20


def grammar(one: str, other: str) -> str:
    names = ["".join(parts) for parts in itertools.product((one, other), repeat=BLOCKS)]
    tokens = "".join(f"%token {name}\n" for name in names)
    types = "".join(f"%type <number> {name}\n" for name in names) * TYPES
    return f"%union {{ int number; }}\n{tokens}{types}%%\nall : {names[0]} ;\n%%\n"


def main(folder: Path) -> None:
    (folder / "spread.y").write_text(grammar("Ab", "Cz"))
    (folder / "equal.y").write_text(grammar("Ab", "BC"))


main(Path(sys.argv[1]))
