"""Two archives of the same measurements: with headers of the second release, or of the first, which are shorter."""

import gzip
import struct
import sys
from pathlib import Path

RECORDS, VALUES = 100, 6000


def archive(release: int) -> bytes:
    parts = []
    for number in range(RECORDS):
        values = [(number * 104729 + i * 7919 + i * i % 251) % 65521 for i in range(VALUES)]
        header = struct.pack("<HHI", release, VALUES, number)
        parts.append(header + (struct.pack("<Q", 1_700_000_000 + number) if release == 2 else b""))
        parts.append(struct.pack(f"<{VALUES}H", *values))
    return b"".join(parts)


def main() -> None:
    folder = Path(sys.argv[1])
    for release in (1, 2):
        (folder / f"release{release}.gz").write_bytes(gzip.compress(archive(release), mtime=0))


if __name__ == "__main__":
    main()
