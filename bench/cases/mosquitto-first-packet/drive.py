"""Devices log in and report values; every fifth connection does not log in, announces a packet of 2 MB and sends a part of it."""

import socket
import struct
import sys

PORT, DEVICES = map(int, sys.argv[1:3])
REPORTS = 300
ANNOUNCED = b"\x30\x80\x80\x80\x01"  # PUBLISH with 2 MiB to follow
PART = b"\1" * 500_000


def text(words: str) -> bytes:
    return struct.pack(">H", len(words)) + words.encode()


def packet(kind: int, body: bytes) -> bytes:
    if len(body) > 127:
        sys.exit("drive: longer than one byte of length can say")
    return bytes([kind, len(body)]) + body


def answered(connection: socket.socket, kind: int) -> None:
    if connection.recv(4096)[:1] != bytes([kind]):
        sys.exit("drive: the broker does not answer as it should")


strangers = []
for device in range(DEVICES):
    if device % 5 == 0:
        stranger = socket.create_connection(("127.0.0.1", PORT))
        strangers.append(stranger)
        try:
            stranger.sendall(ANNOUNCED + PART)
        except (ConnectionResetError, BrokenPipeError):
            pass  # a broker that knows better has hung up
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        connection.sendall(packet(0x10, text("MQTT") + bytes([4, 2, 0, 0]) + text(f"device{device}")))
        answered(connection, 0x20)
        reports = (packet(0x30, text(f"hall/device{device}/value{n % 9}") + b"%d" % n) for n in range(REPORTS))
        connection.sendall(b"".join(reports))
        connection.sendall(packet(0xC0, b""))
        answered(connection, 0xD0)
for stranger in strangers:
    stranger.close()
