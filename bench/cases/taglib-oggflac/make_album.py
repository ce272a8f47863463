"""Ogg FLAC files without music: blocks of metadata, a page each, the same number in many files and in one."""

import struct
import sys
from pathlib import Path

BLOCKS, FILES = 1500, 15


def page(number: int, packet: bytes, flags: int) -> bytes:
    header = struct.pack("<4sBBqIIIB", b"OggS", 0, flags, 0, 7, number, 0, 1)
    return header + bytes([len(packet)]) + packet


def block(kind: int, content: bytes, last: bool = False) -> bytes:
    return bytes([kind | (0x80 if last else 0)]) + len(content).to_bytes(3, "big") + content


def song(path: Path, blocks: int) -> None:
    rate_channels_bits_samples = (44100 << 44 | 1 << 41 | 15 << 36 | 441_000).to_bytes(8, "big")
    stream = struct.pack(">HH", 4096, 4096) + bytes(6) + rate_channels_bits_samples + bytes(16)
    pages = [page(0, b"\x7fFLAC\x01\x00\x00\x00fLaC" + block(0, stream), 2)]
    pages += [page(number + 1, block(1, bytes(40)), 0) for number in range(blocks)]
    comment = struct.pack("<I", 4) + b"none" + struct.pack("<I", 1) + struct.pack("<I", 10) + b"TITLE=Song"
    pages.append(page(blocks + 1, block(4, comment, last=True), 0))
    path.write_bytes(b"".join(pages))


folder = Path(sys.argv[1])
for kind, files in (("many", FILES), ("one", 1)):
    (folder / kind).mkdir()
    for number in range(files):
        song(folder / kind / f"{number}.oga", BLOCKS // files)
