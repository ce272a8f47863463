"""The header of a damaged photo: three directories point to one another, around and around."""

import struct
import sys
from pathlib import Path

EXIF, GPS, INTEROPERABILITY = 0x8769, 0x8825, 0xA005
START = 8


def directory(entries: list[tuple[int, int]]) -> bytes:
    """Of tags and numbers, with no directory after it."""
    listed = (struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    return struct.pack("<H", len(entries)) + b"".join(listed) + struct.pack("<I", 0)


def main(folder: Path) -> None:
    usual = [(0x0100 + number, 640) for number in range(11)]
    sizes = [len(directory([(0, 0)] * count)) for count in (len(usual) + 1, 3, 4, 5)]
    exif, gps, interoperability = (START + sum(sizes[:count]) for count in (1, 2, 3))
    directories = (
        directory([*usual, (EXIF, exif)]),
        directory([(GPS, gps)] * 3),
        directory([(INTEROPERABILITY, interoperability)] * 4),
        directory([(EXIF, exif)] * 5),
    )
    header = b"Exif\0\0II" + struct.pack("<HI", 42, START)
    (folder / "photo.exif").write_bytes(header + b"".join(directories))


main(Path(sys.argv[1]))
