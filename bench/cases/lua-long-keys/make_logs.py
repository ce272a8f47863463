"""A log of requests for items, whose numbers are in the middle of long addresses."""

import random
import sys
from pathlib import Path

ITEMS = 6000
REQUESTS = 50_000
ADDRESS = (
    "/shop/europe/north/garden/furniture/tables-and-chairs/summer-sale/item/{item:08x}/"
    "a-folding-table-of-oiled-acacia-with-four-chairs-and-a-cover-for-the-winter-months.html"
    "?campaign=newsletter&medium=mail&source=customers-of-last-year&placement=second-column&language=en"
)


def main(folder: Path) -> None:
    chance = random.Random(1)
    items = [chance.getrandbits(32) for _ in range(ITEMS)]
    asked = (chance.choice(items) for _ in range(REQUESTS))
    lines = (f"GET {ADDRESS.format(item=item)} 200 {chance.randrange(200, 50_000)}\n" for item in asked)
    (folder / "requests.log").write_text("".join(lines))


main(Path(sys.argv[1]))
