"""A document for m4: lines that are expanded one by one, and chapters that are transcribed from other alphabets."""

import random
import sys
from pathlib import Path

LINES = 50_000
CHAPTERS, WORDS_A_CHAPTER = 700, 2_600
WORDS = ["harbour", "lantern", "copper", "meadow", "signal", "winter", "garden", "thread", "marble", "river"]
# Bytes of several alphabets, as a table of transcriptions grows over the years; what is not in it stays.
FROM = bytes(range(0xA1, 0x100)).decode("latin-1") * 40
TO = "".join("aeiounrstl"[number % 10] for number in range(len(FROM)))


def main(folder: Path) -> None:
    chance = random.Random(1)
    with (folder / "document.m4").open("w", encoding="latin-1") as file:
        file.write(f"define(`plain', `translit(`$1', `{FROM}', `{TO}')')dnl\n")
        file.write("define(`line', `ifelse(eval($1 % 3), 0, `$2.', `$2,') len(`$2')')dnl\n")
        for number in range(LINES):
            file.write(f"line({number}, `{' '.join(chance.choices(WORDS, k=8))}')\n")
            if number % (LINES // CHAPTERS) == 0:
                file.write(f"plain(`{' '.join(chance.choices(WORDS, k=WORDS_A_CHAPTER))}')\n")


main(Path(sys.argv[1]))
