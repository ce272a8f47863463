"""Two captures of as many packets, between few and between many hosts of one network."""

import struct
import sys
from pathlib import Path

PACKETS = 200_000
LINKTYPE_RAW = 101


def capture(path: Path, hosts: int) -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_RAW)
    parts = [header]
    for number in range(PACKETS):
        source, target = number * 7919 % hosts, number * 104_729 % hosts
        payload = struct.pack(">HHHH", 1024 + number % 40_000, 53, 8, 0)
        addresses = struct.pack(">II", 0x0A01_0000 + source, 0x0A01_0000 + target)
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 28, number & 0xFFFF, 0, 64, 17, 0) + addresses + payload
        parts.append(struct.pack("<IIII", number // 1000, number % 1000, len(packet), len(packet)) + packet)
    path.write_bytes(b"".join(parts))


folder = Path(sys.argv[1])
capture(folder / "few.pcap", 300)
capture(folder / "many.pcap", 2500)
