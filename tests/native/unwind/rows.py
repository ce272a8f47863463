"""Unwind rows (native/unwind/unwind.h) and .eh_frame sections, as plain Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

_ROWS = {"x86_64": struct.Struct("<IiBB6b"), "aarch64": struct.Struct("<IiBBh12b")}
SAME, LOST = 0, 127
SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
DWARF = {name: number for number, name in enumerate(["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"])}
DWARF |= {f"r{number}": number for number in range(8, 16)} | {"rip": 16}


class Kind(IntEnum):
    NONE = 0
    OFFSET = 1
    DEREF = 2
    PLT = 3
    SIGNAL = 4
    END = 5
    RULE = 6
    REALIGN = 7
    DEREF_PLUS = 8


@dataclass(frozen=True)
class Row:
    address: int
    kind: Kind
    reg: int = 0
    offset: int = 0
    saved: tuple[int, ...] = (SAME,) * 6
    """In words from the CFA."""


def rows_of(packed: bytes, machine: str) -> list[Row]:
    rows = []
    for address, offset, kind, reg, *saved in _ROWS[machine].iter_unpack(packed):
        base = saved.pop(0) if machine == "aarch64" else 0
        words = tuple(word if word in (SAME, LOST) else base + word for word in saved)
        rows.append(Row(address, Kind(kind), reg, offset, words))
    return rows


def uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        done = (value == 0 and not low & 0x40) or (value == -1 and low & 0x40)
        out.append(low if done else low | 0x80)
        if done:
            return bytes(out)


def entry(body: bytes) -> bytes:
    body += b"\0" * (-(len(body) + 4) % 8)
    return struct.pack("<I", len(body)) + body


# CFA = rsp + 8, return address at CFA - 8: how every x86-64 function begins.
INITIAL = bytes([0x0C, 7, 8, 0x80 | 16, 1])


def cie(
    letters: str = "zR",
    augmentation: bytes = b"\x1b",
    initial: bytes = INITIAL,
    *,
    version: int = 1,
    code_align: int = 1,
    data_align: int = -8,
    return_column: int = 16,
) -> bytes:
    head = struct.pack("<IB", 0, version) + letters.encode() + b"\0" + uleb(code_align) + sleb(data_align)
    block = uleb(len(augmentation)) + augmentation if letters.startswith("z") else b""
    return entry(head + bytes([return_column]) + block + initial)


_FORMATS = {0x0: "<Q", 0x2: "<H", 0x3: "<I", 0x4: "<Q", 0xA: "<h", 0xB: "<i", 0xC: "<q"}


def encoded(value: int, encoding: int) -> bytes:
    if encoding & 0xF in (1, 9):
        return uleb(value) if encoding & 0xF == 1 else sleb(value)
    if encoding & 0xF == 0:
        value &= (1 << 64) - 1
    return struct.pack(_FORMATS[encoding & 0xF], value)


class Section:
    """A section under construction at `address`."""

    def __init__(self, address: int = 0x2000) -> None:
        self.address = address
        self.bytes = b""

    def add_cie(self, body: bytes) -> int:
        at = len(self.bytes)
        self.bytes += body
        return at

    def add_fde(
        self, cie_at: int, start: int, size: int, program: bytes, encoding: int = 0x1B, augmented: bool = True
    ) -> None:
        at = len(self.bytes)
        begin = encoded(start - (self.address + at + 8) if encoding & 0x70 == 0x10 else start, encoding)
        length = encoded(size, encoding & 0x0F)
        self.bytes += entry(struct.pack("<I", at + 4 - cie_at) + begin + length + b"\0" * augmented + program)
