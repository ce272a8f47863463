"""Sixteen texts of 6 MB with a few letters that are not English."""

import random
import sys
from pathlib import Path

chance = random.Random(11)
words = ["über", "Straße", "the", "of", "and", "naïve", "reading", "letters", "garçon", "house", "under", "river"]
for number in range(16):
    lines = [" ".join(chance.choices(words, k=10)) for _ in range(100_000)]
    (Path(sys.argv[1]) / f"text{number:02d}").write_text("\n".join(lines) + "\n")
