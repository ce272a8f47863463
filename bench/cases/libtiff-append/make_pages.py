"""A scanned document: a TIFF file of many pages, each a small grey picture."""

import random
import struct
import sys
from pathlib import Path

PAGES = 2_000
SIDE = 144
SHORT, LONG = 3, 4


def directory(picture_at: int, next_at: int) -> bytes:
    entries = [
        (256, LONG, SIDE),  # width
        (257, LONG, SIDE),  # height
        (258, SHORT, 8),  # bits a sample
        (259, SHORT, 1),  # not compressed
        (262, SHORT, 1),  # black is zero
        (273, LONG, picture_at),
        (277, SHORT, 1),  # samples a pixel
        (278, LONG, SIDE),  # rows a strip
        (279, LONG, SIDE * SIDE),  # bytes
    ]
    packed = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    return struct.pack("<H", len(entries)) + packed + struct.pack("<I", next_at)


def main(folder: Path) -> None:
    chance = random.Random(1)
    line = bytes(min(255, 200 + chance.randrange(60)) for _ in range(SIDE * 4))
    pages = len(directory(0, 0)) + SIDE * SIDE
    with (folder / "scan.tif").open("wb") as file:
        file.write(struct.pack("<2sHI", b"II", 42, 8))
        for number in range(PAGES):
            at = 8 + number * pages
            last = number == PAGES - 1
            file.write(directory(at + pages - SIDE * SIDE, 0 if last else at + pages))
            starts = (chance.randrange(SIDE * 3) for _ in range(SIDE))
            file.write(b"".join(line[start : start + SIDE] for start in starts))


main(Path(sys.argv[1]))
