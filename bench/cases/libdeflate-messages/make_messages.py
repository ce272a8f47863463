"""What a chat server has sent on one connection: short messages, each flushed as soon as it was written."""

import struct
import sys
import zlib
from pathlib import Path

MESSAGES, DOCUMENTS = 25_000, 125
WORDS = [f"{i * 104729 % 99_991:x} ".encode() for i in range(2003)]


def main() -> None:
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    parts, size = [], 0
    for number in range(MESSAGES):
        text = f'{{"from":{number * 7919 % 997},"said":"{number * 104729 % 99_991:x}"}}\n'.encode()
        if number % (MESSAGES // DOCUMENTS) == 0:
            text += b"".join(WORDS[i * (i + number) * 7919 % 2003] for i in range(60_000))
        parts.append(packer.compress(text) + packer.flush(zlib.Z_PARTIAL_FLUSH))
        size += len(text)
    parts.append(packer.flush())
    Path(sys.argv[1], "messages.bin").write_bytes(struct.pack("<Q", size) + b"".join(parts))


if __name__ == "__main__":
    main()
