"""The same orders as JSON, each on a line of its own, and all of them on one."""

import random
import sys
from pathlib import Path

ORDERS = 150_000


def order(chance: random.Random, number: int) -> str:
    amount = chance.randrange(1, 100_000) / 100
    return f'{{"id":{number},"customer":{chance.randrange(10_000)},"sum":{amount},"paid":true}}'


def main(folder: Path) -> None:
    chance = random.Random(1)
    orders = [order(chance, number) for number in range(ORDERS)]
    (folder / "lines.json").write_text("[\n" + ",\n".join(orders) + "\n]\n")
    (folder / "line.json").write_text("[ " + ", ".join(orders) + " ]\n")


main(Path(sys.argv[1]))
