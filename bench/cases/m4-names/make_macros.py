"""A table of 20,000 articles as macros, of which a page calls some, again and again."""

import random
import sys
from pathlib import Path

chance = random.Random(7)
names = [f"article_{chance.getrandbits(40):010x}" for _ in range(20_000)]
lines = [f"define({name}, {number * 7 % 991})dnl\n" for number, name in enumerate(names)]
lines += [" ".join(chance.choices(names, k=10)) + "\n" for _ in range(60_000)]
(Path(sys.argv[1]) / "page.m4").write_text("".join(lines))
