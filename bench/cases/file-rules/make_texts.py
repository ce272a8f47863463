"""A thousand short texts, and the list of their names."""

import random
import sys
from pathlib import Path

random.seed(11)
folder = Path(sys.argv[1])
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(2000)]
paths = [folder / f"text{number:04}" for number in range(1000)]
for path in paths:
    path.write_text("".join(" ".join(random.choices(words, k=9)) + "\n" for _ in range(4)))
(folder / "list").write_text("".join(f"{path}\n" for path in paths))
