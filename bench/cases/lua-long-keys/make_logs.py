"""Logs of requests for the same items in the same order, under short addresses and under long ones."""

import random
import sys
from pathlib import Path

ITEMS = 4000
REQUESTS = 120_000
SHORT = "/shop/item/{item:016x}/picture-of-it.html"
LONG = (
    "/shop/europe/north/garden/furniture/tables-and-chairs/summer-sale/item/{item:016x}/"
    "a-folding-table-of-oiled-acacia-with-four-chairs-and-a-cover-for-the-winter-months.html"
    "?campaign=newsletter&medium=mail&source=customers-of-last-year&placement=second-column&language=en"
)


def main(folder: Path) -> None:
    chance = random.Random(1)
    items = [chance.getrandbits(64) for _ in range(ITEMS)]
    asked = [(chance.choice(items), chance.randrange(200, 50_000)) for _ in range(REQUESTS)]
    for name, address in (("short.log", SHORT), ("long.log", LONG)):
        lines = [f"GET {address.format(item=item)} 200 {size}\n" for item, size in asked]
        (folder / name).write_text("".join(lines))


main(Path(sys.argv[1]))
