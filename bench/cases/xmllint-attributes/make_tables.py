"""The same cells as attributes of many narrow rows and of few wide ones."""

import random
import sys
from pathlib import Path

CELLS = 48_000


def table(columns: int) -> str:
    chance = random.Random(1)

    def row() -> str:
        return " ".join(f'column_{number:04d}="{chance.randrange(1_000_000)}"' for number in range(columns))

    rows = "\n".join(f"<row {row()}/>" for _ in range(CELLS // columns))
    return f"<table>\n{rows}\n</table>\n"


def main(folder: Path) -> None:
    (folder / "narrow.xml").write_text(table(20))
    (folder / "wide.xml").write_text(table(480))


main(Path(sys.argv[1]))
