"""Texts of several kinds, as a mail server would have them looked at: notes, tables, scripts, letters."""

import random
import sys
from pathlib import Path

TEXTS = 150
LINES = 5_000
WORDS = ["harbour", "lantern", "copper", "meadow", "signal", "winter", "garden", "thread", "marble", "river"]
KINDS = {
    "note": lambda chance: " ".join(chance.choices(WORDS, k=9)),
    "table": lambda chance: ";".join(str(chance.randrange(10_000)) for _ in range(12)),
    "letter": lambda chance: f"> {chance.choice(WORDS)}: {' '.join(chance.choices(WORDS, k=7))}",
}


def main(folder: Path) -> None:
    chance = random.Random(1)
    paths = []
    for number in range(TEXTS):
        kind = list(KINDS)[number % len(KINDS)]
        path = folder / f"{kind}-{number:03d}"
        path.write_text("".join(KINDS[kind](chance) + "\n" for _ in range(LINES)))
        paths.append(str(path))
    (folder / "list").write_text("\n".join(paths) + "\n")


main(Path(sys.argv[1]))
