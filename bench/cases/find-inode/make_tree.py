"""A tree of 40,000 empty files."""

import sys
from pathlib import Path

for number in range(40_000):
    home = Path(sys.argv[1]) / "tree" / f"part{number // 500:03d}"
    home.mkdir(parents=True, exist_ok=True)
    (home / f"message-{number:06d}").touch()
