"""Devices log in and report values. Strangers do not log in: they announce packets of 2 MB and send a part of each."""

import contextlib
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
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # a broker that knows better hangs up
            stranger.sendall(ANNOUNCED + PART)
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        connection.sendall(packet(0x10, text("MQTT") + bytes([4, 2, 0, 0]) + text(f"device{device}")))
        answered(connection, 0x20)
        reports = (packet(0x30, text(f"hall/device{device}/value{n % 9}") + b"%d" % n) for n in range(REPORTS))
        connection.sendall(b"".join(reports))
        connection.sendall(packet(0xC0, b""))
        answered(connection, 0xD0)
for stranger in strangers:
    stranger.close()
print(f"work={DEVICES}")
