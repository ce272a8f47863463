"""Four rules that look for a name, dots and a name, and a listing of 6 MB with rows of dots in it."""

import random
import sys
from pathlib import Path

random.seed(9)
folder = Path(sys.argv[1])
names = ("chapter", "section", "appendix", "figure")
rules = "".join(f"rule {name} {{ strings: $line = /{name}\\.{{128,}}{name}/ condition: $line }}\n" for name in names)
(folder / "contents.yar").write_text(rules)
with (folder / "listing.txt").open("w") as listing:
    for row in range(3000):
        listing.write("".join(random.choices("abcdefgh ijklmnop\n", k=1900)))
        listing.write("table" + "." * (200 if row % 2 else 20) + "leaf\n")
