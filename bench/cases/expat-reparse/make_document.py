"""An export of records, some of which carry a picture in one long attribute."""

import random
import sys
from pathlib import Path

RECORDS = 400_000
PICTURES = 2
PICTURE = 1_600_000


def record(chance: random.Random, number: int) -> str:
    return (
        f'<record id="{number}" state="{chance.choice(("new", "paid", "sent"))}">'
        f"<name>customer {chance.randrange(10_000)}</name><sum>{chance.randrange(1, 100_000) / 100}</sum></record>\n"
    )


def main(folder: Path) -> None:
    chance = random.Random(1)
    with (folder / "export.xml").open("w") as file:
        file.write("<export>\n")
        for number in range(RECORDS):
            file.write(record(chance, number))
            if number % (RECORDS // PICTURES) == 0:
                file.write(f'<picture data="{"QUJD" * (PICTURE // 4)}"/>\n')
        file.write("</export>\n")


main(Path(sys.argv[1]))
