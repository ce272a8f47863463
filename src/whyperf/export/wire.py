"""Protocol Buffers' encoding, as much of it as a profile needs: numbers, texts, nested messages, packed lists."""

from __future__ import annotations

from collections.abc import Iterable

Field = int | str | bytes | Iterable[int]

_NUMBER, _BYTES = 0, 2


def varint(value: int) -> bytes:
    """Negative numbers in two's complement of 64 bits."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number: int, value: Field) -> bytes:
    """One field; a list of numbers is packed. Zero and empty are what a missing field means."""
    if isinstance(value, int):
        return varint(number << 3 | _NUMBER) + varint(value) if value else b""
    if isinstance(value, str):
        value = value.encode(errors="replace")
    elif not isinstance(value, bytes):
        value = b"".join(varint(one) for one in value)
    return varint(number << 3 | _BYTES) + varint(len(value)) + value if value else b""


def nested(number: int, message: bytes) -> bytes:
    """A message, which counts even when it is empty."""
    return varint(number << 3 | _BYTES) + varint(len(message)) + message
