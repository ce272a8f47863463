"""Documents of settings, one a line. A few have keys that the hash function of json-c 0.11 takes for the same."""

import itertools
import json
import random
import sys
from pathlib import Path

DOCUMENTS = 600
SETTINGS = 120
FORGED, FORGED_KEYS = 3, 2_048
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def old_hash(text: str) -> int:
    value = 0
    for letter in text:
        value = (value * 129 + ord(letter) + 0x9E370001) & 0xFFFFFFFF
    return value


def equal_parts(chance: random.Random) -> tuple[str, str]:
    """Two texts of one length with the same hash: in keys one may stand for the other."""
    seen: dict[int, str] = {}
    while True:
        text = "".join(chance.choices(LETTERS, k=8))
        if seen.setdefault(old_hash(text), text) != text:
            return seen[old_hash(text)], text


def main(folder: Path) -> None:
    chance = random.Random(1)
    parts = equal_parts(chance)
    bits = FORGED_KEYS.bit_length() - 1
    forged = ["".join(choice) for choice in itertools.product(parts, repeat=bits)]
    with (folder / "settings.json").open("w") as file:
        for number in range(DOCUMENTS):
            names = [f"service.{chance.randrange(400)}.limit.{chance.randrange(50)}" for _ in range(SETTINGS)]
            if number % (DOCUMENTS // FORGED) == 0:
                names = forged
            file.write(json.dumps({name: chance.randrange(1000) for name in names}) + "\n")


main(Path(sys.argv[1]))
