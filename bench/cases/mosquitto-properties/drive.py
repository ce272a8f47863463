"""Devices connect, each with a list of what it is made of, and report a few hundred values; one listener hears some."""

import socket
import struct
import sys

PORT, DEVICES, PARTS = map(int, sys.argv[1:4])
REPORTS = 400
USER_PROPERTY = 0x26


def number(value: int) -> bytes:
    digits = bytearray()
    while True:
        value, low = divmod(value, 128)
        digits.append(low | (0x80 if value else 0))
        if not value:
            return bytes(digits)


def text(words: str) -> bytes:
    return struct.pack(">H", len(words)) + words.encode()


def packet(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + number(len(body)) + body


def connect(name: str, parts: int) -> bytes:
    properties = b"".join(
        bytes([USER_PROPERTY]) + text(f"part-{part}") + text(f"serial {part * 7919}") for part in range(parts)
    )
    return packet(0x10, text("MQTT") + bytes([5, 2, 0, 0]) + number(len(properties)) + properties + text(name))


def report(device: int, value: int) -> bytes:
    return packet(0x30, text(f"plant/hall{device % 4}/device{device}/value{value % 9}") + b"\0" + b"%d" % value)


def answered(connection: socket.socket, kind: int) -> None:
    if connection.recv(4096)[:1] != bytes([kind]):
        sys.exit("drive: the broker does not answer as it should")


def opened(name: str, parts: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", PORT))
    connection.sendall(connect(name, parts))
    answered(connection, 0x20)
    return connection


with opened("listener", 0) as listener:
    listener.sendall(packet(0x82, b"\0\1\0" + text("plant/+/device7/#") + b"\0"))
    answered(listener, 0x90)
    for device in range(DEVICES):
        with opened(f"device{device}", PARTS) as connection:
            connection.sendall(b"".join(report(device, value) for value in range(REPORTS)))
            connection.sendall(packet(0xC0, b""))
            answered(connection, 0xD0)
