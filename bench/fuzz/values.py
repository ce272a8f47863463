"""Values that readers stumble over, and mutations of JSON and of bytes."""

from __future__ import annotations

import random
import struct
from typing import Any

INTEGERS = (-1, 0, 1, 2, 3, 5, 127, -128, 255, 32767, 65536, (1 << 31) - 1, -(1 << 31), 1 << 32, (1 << 53) + 1)
INTEGERS += ((1 << 63) - 1, -(1 << 63), (1 << 64) - 1, 1 << 70, 10**400)
FLOATS = (0.0, -0.0, -1.0, 1e-308, 1e308, -1e300, float("nan"), float("inf"), float("-inf"), 0.1)
TEXTS = (
    "",
    "x",
    'whyperf view "x',
    "\0",
    "\x1b[2J",
    "a" * 5000,
    "/",
    "../../etc",
    "\ud800",
    "é" * 10,
    "%s{}",
    "[",
    "main",
    "-1",
)
JSON: tuple[Any, ...] = (*INTEGERS, *FLOATS, *TEXTS, None, True, [], {}, [[]], {"": 0})


def changed_json(rng: random.Random, value: Any) -> Any:
    """One thing somewhere in it is another."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {name: held for name, held in value.items() if name != key}
        return {**value, key: changed_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.3:
            return value[:at] + value[at + 1 :] if rng.random() < 0.5 else [*value, *value]
        return [*value[:at], changed_json(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice((value + 1, value - 1, -value, value * 2, value * 1000, float(value), str(value)))
    return rng.choice(JSON)


def changed_bytes(rng: random.Random, content: bytes) -> bytes:
    """Bits, bytes, words and runs of them."""
    if not content:
        return b"\0"
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(data))
        match rng.randrange(6):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2 | 3:
                size, code = rng.choice(((2, "<H"), (4, "<I"), (8, "<Q")))
                at -= at % size
                if at + size <= len(data):
                    struct.pack_into(code, data, at, rng.choice(INTEGERS) & ((1 << 8 * size) - 1))
            case 4:
                length = rng.randrange(1, 64)
                del data[at : at + length]
            case 5:
                length = rng.randrange(1, 64)
                data[at:at] = data[at : at + length]
        if not data:
            return b"\0"
    return bytes(data)
