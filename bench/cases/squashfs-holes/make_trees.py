"""Two trees of the same files; in one of them lies the image of a disk that nothing was written to yet."""

import sys
from pathlib import Path

HOLE = 3 << 29

home = Path(sys.argv[1])
for name in ("files", "disk"):
    folder = home / name
    folder.mkdir()
    for number in range(40):
        lines = (
            f"{number} {line} {line * 2654435761 % 4294967296:x} {line * number % 8191}\n" for line in range(10_000)
        )
        (folder / f"log{number}").write_text("".join(lines))
with (home / "disk" / "disk.img").open("wb") as image:
    image.truncate(HOLE)
