"""Protocol Buffers' encoding, as much of it as a profile needs: numbers, texts, nested messages, packed lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Field = int | str | bytes | Iterable[int]

_NUMBER, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}


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


class BrokenMessage(ValueError):  # noqa: N818 (what it is)
    """Bytes that are no message."""


def fields(message: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """A message's fields in order: numbers, and the bytes of texts, nested messages and packed lists."""
    view, at = memoryview(message), 0
    while at < len(view):
        key, at = _read_varint(view, at)
        kind = key & 7
        if kind == _NUMBER:
            value, at = _read_varint(view, at)
            yield key >> 3, value
            continue
        size, at = (_FIXED[kind], at) if kind in _FIXED else _read_varint(view, at)
        if kind not in (*_FIXED, _BYTES) or at + size > len(view):
            raise BrokenMessage("a field reaches beyond its message")
        content = view[at : at + size]
        at += size
        yield key >> 3, int.from_bytes(content, "little") if kind in _FIXED else content


def numbers(value: int | memoryview) -> list[int]:
    """A repeated number, packed or not."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = _read_varint(value, at)
        found.append(one)
    return found


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(view) and shift < 64:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
        shift += 7
    raise BrokenMessage("a number is cut short")
