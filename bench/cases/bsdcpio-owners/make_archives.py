"""Archives of 250,000 empty files of two owners: 1001 and 1003, or 1001 and 1203."""

import sys
from pathlib import Path


def entry(name: str, owner: int) -> bytes:
    """As the portable format of cpio has it: numbers in octal digits."""
    ended = name.encode() + b"\0"
    numbers = (1, 1, 0o100644, owner, 100, 1, 0)
    head = "070707" + "".join(f"{number:06o}" for number in numbers) + f"{1700000000:011o}{len(ended):06o}{0:011o}"
    return head.encode() + ended


for name, other in (("apart", 1003), ("alike", 1203)):
    with (Path(sys.argv[1]) / f"{name}.cpio").open("wb") as archive:
        for number in range(250_000):
            archive.write(entry(f"backup/home/file{number:06d}", 1001 if number % 16 else other))
        archive.write(entry("TRAILER!!!", 0))
