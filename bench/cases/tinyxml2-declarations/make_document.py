"""An inventory that many programs have put a declaration of their own in front of."""

import random
import sys
from pathlib import Path

DECLARATIONS = 8_000
SHELVES, ARTICLES = 300, 100


def main(folder: Path) -> None:
    chance = random.Random(1)
    with (folder / "inventory.xml").open("w") as file:
        for number in range(DECLARATIONS):
            file.write(f'<?xml version="1.0" tool="step-{number}"?>\n')
        file.write("<inventory>\n")
        for shelf in range(SHELVES):
            file.write(f'<shelf number="{shelf}">\n')
            for _ in range(ARTICLES):
                number, pieces = chance.randrange(100_000), chance.randrange(40)
                file.write(f'<article number="{number}" pieces="{pieces}">lantern &amp; oil</article>\n')
            file.write("</shelf>\n")
        file.write("</inventory>\n")


main(Path(sys.argv[1]))
