"""A log; three of four lines are errors or warnings."""

import random
import sys
from pathlib import Path

chance = random.Random(3)
kinds = ("error", "warning", "warning", "info")
lines = (f"{number:07d} {chance.choice(kinds)} {chance.getrandbits(32):08x}\n" for number in range(700_000))
(Path(sys.argv[1]) / "log.txt").write_text("".join(lines))
