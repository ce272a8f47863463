"""What a detector has measured: small numbers that drift, and noise."""

import struct
import sys
from pathlib import Path

EVENTS = 160_000


def main() -> None:
    values = []
    for i in range(EVENTS):
        values += [i, 4000 + i * 7919 % 61, 700 + (i // 50) * 31 % 97, i * 104729 % 9973]
    Path(sys.argv[1], "events.bin").write_bytes(struct.pack(f"<{len(values)}I", *values))


if __name__ == "__main__":
    main()
