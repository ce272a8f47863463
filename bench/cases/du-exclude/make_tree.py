"""Makes the tree that du walks: 30,000 empty files below six levels of folders."""

import sys
from pathlib import Path

root = Path(sys.argv[1]) / "tree"
for top in range(60):
    for branch in range(10):
        folder = root / f"directory-{top:03}" / "with/several/levels/below/it" / f"branch-{branch:02}"
        folder.mkdir(parents=True)
        for number in range(50):
            (folder / f"file-number-{number:04}.txt").touch()
