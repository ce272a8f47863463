"""2,000,000 visits by number of visitor: of 300,000 visitors, or of 1,500,000."""

import random
import sys
from pathlib import Path

random.seed(9)
for name, visitors in (("few", 300_000), ("many", 1_500_000)):
    with (Path(sys.argv[1]) / f"{name}.txt").open("w") as visits:
        visits.writelines(f"v{random.randrange(visitors)}\n" for _ in range(2_000_000))
