"""Two texts of the same length: words at random, and one record that is written again and again."""

import random
import sys
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 12_000_000


def main(folder: Path) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices(LETTERS, k=chance.randrange(2, 10))) for _ in range(5000)]
    varied = " ".join(chance.choices(words, k=LENGTH // 4))
    record = " ".join(chance.choices(words, k=60)) + "\n"
    (folder / "varied").write_text(varied[:LENGTH])
    (folder / "repetitive").write_text((record * (LENGTH // len(record) + 1))[:LENGTH])


main(Path(sys.argv[1]))
