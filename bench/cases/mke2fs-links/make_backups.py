"""Backups that share files by hard links: in directories of 4,000 names, or of 500."""

import os
import sys
from pathlib import Path

NAMES = 16_000
OF_ONE_FILE = 500


def make(folder: Path, of_one_directory: int) -> None:
    for number in range(NAMES):
        home = folder / f"part{number // of_one_directory}"
        home.mkdir(parents=True, exist_ok=True)
        name = home / f"backup-{number:06d}"
        if number % OF_ONE_FILE == 0:
            first = name
            first.write_text(f"{number}\n")
        else:
            os.link(first, name)


make(Path(sys.argv[1]) / "spread", 500)
make(Path(sys.argv[1]) / "together", 4000)
