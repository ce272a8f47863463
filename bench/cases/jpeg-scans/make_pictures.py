"""A scanned page as a progressive JPEG, and the same with many scans after the last that say nothing new."""

import random
import subprocess
import sys
from pathlib import Path

SIDE, SCANS = 8192, 200
RUN = 14

program, folder = Path(sys.argv[1]), Path(sys.argv[2])


def page() -> bytes:
    draw = random.Random(7)
    lines = [bytes(draw.choice((30, 200, 235, 240)) for _ in range(SIDE // 2)) for _ in range(64)]
    rows = [bytes(value for value in draw.choice(lines) for _ in range(2)) for _ in range(SIDE // 4)]
    return b"P5\n%d %d\n255\n" % (SIDE, SIDE) + b"".join(row * 4 for row in rows)


def empty_scan() -> bytes:
    """Runs of 2 ** 14 blocks without anything: of each, a symbol of one bit, and 14 bits that say how many more."""
    table = bytes([0xFF, 0xC4, 0, 20, 0x10, 1, *[0] * 15, RUN << 4])
    header = bytes([0xFF, 0xDA, 0, 8, 1, 1, 0x00, 1, 63, 0])
    runs = (SIDE // 8) ** 2 >> RUN
    return table + header + bytes(runs * (1 + RUN) // 8)


(folder / "page.pgm").write_bytes(page())
encode = [program / "build" / "cjpeg-static", "-progressive", "-quality", "85", folder / "page.pgm"]
usual = subprocess.run(encode, stdout=subprocess.PIPE, check=True).stdout
(folder / "usual.jpg").write_bytes(usual)
(folder / "scans.jpg").write_bytes(usual.removesuffix(b"\xff\xd9") + empty_scan() * SCANS + b"\xff\xd9")
(folder / "page.pgm").unlink()
