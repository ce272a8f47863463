"""Two texts of the same letters and marks: two on each letter of the one, all on a few letters of the other."""

import random
import sys
from pathlib import Path

PARAGRAPHS = 120
LETTERS = 400
LETTERS_WITH_MARKS = 2
MARKS = "\u0323\u0331\u0325\u0324"  # below the letter
WORDS = ["the", "harbour", "of", "a", "small", "town", "where", "boats", "are", "mended", "before", "evening"]


def paragraph(chance: random.Random, *, in_few_places: bool) -> str:
    letters = [letter for _ in range(LETTERS) for letter in chance.choice(WORDS)][:LETTERS]
    marks = [chance.choice(MARKS) for _ in range(2 * LETTERS)]
    marked = [letters[k] + ("" if in_few_places else "".join(marks[2 * k : 2 * k + 2])) for k in range(LETTERS)]
    if in_few_places:
        share = len(marks) // LETTERS_WITH_MARKS
        for k in range(LETTERS_WITH_MARKS):
            marked[k * LETTERS // LETTERS_WITH_MARKS] += "".join(marks[k * share : (k + 1) * share])
    return "".join(marked)


def main(folder: Path) -> None:
    for name, in_few_places in (("spread.txt", False), ("piled.txt", True)):
        chance = random.Random(1)
        lines = [paragraph(chance, in_few_places=in_few_places) for _ in range(PARAGRAPHS)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


main(Path(sys.argv[1]))
