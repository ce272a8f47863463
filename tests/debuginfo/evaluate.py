"""What a location in the variables table holds, given a stopped thread's frames: the readable twin of the C reader.

Not used while recording. It says in Python what `native/values/table.h` says in prose, and tests compare both with
debuggers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whyperf.debuginfo.variable_tables.table import Flag, LocationKind, VariablesTable

ReadMemory = Callable[[int, int], bytes | None]
"""Bytes at a run-time address, or None where there are none."""

_WORD = (1 << 64) - 1
_CALLS_MAX = 8


@dataclass(frozen=True)
class Frame:
    """One physical frame: what is known of it."""

    registers: Mapping[int, int]
    """By DWARF number; in callers only those that could be recovered."""
    cfa: int
    bias: int = 0
    """Run-time address minus ELF virtual address, of the module it runs in."""
    thread_local_block: int | None = None
    vectors: Mapping[int, bytes] = field(default_factory=dict)
    """Their low bytes; none in callers."""
    return_address: int | None = None
    """Run-time address in the caller."""
    caller: Frame | None = None


class _UnreadableError(Exception):
    pass


def evaluate(table: VariablesTable, location: int, frame: Frame, read_memory: ReadMemory) -> int | float | None:
    """The value of row `location` of the locations; None when it cannot be read."""
    row = table.locations[location]
    try:
        return _number(_Reader(table, read_memory).content(row, frame, _CALLS_MAX), int(row["flags"]))
    except _UnreadableError:
        return None


def evaluate_fields(
    table: VariablesTable, location: int, pointer: int, read_memory: ReadMemory
) -> Iterator[tuple[int, int | float | None]]:
    """The variables behind a pointer that row `location` gave, and their values."""
    row, reader = table.locations[location], _Reader(table, read_memory)
    first = int(row["first_field"])
    for one in table.fields[first : first + int(row["field_count"])]:
        try:
            yield int(one["variable"]), reader.field(one, pointer)
        except _UnreadableError:
            yield int(one["variable"]), None


def _number(content: bytes, flags: int) -> int | float:
    if flags & Flag.FLOAT:
        return float(struct.unpack("<f" if len(content) == 4 else "<d", content)[0])
    return int.from_bytes(content, "little", signed=bool(flags & Flag.SIGNED))


def _register(frame: Frame, number: int) -> int:
    if number not in frame.registers:
        raise _UnreadableError
    return frame.registers[number]


def _thread_local_block(frame: Frame) -> int:
    if frame.thread_local_block is None:
        raise _UnreadableError
    return frame.thread_local_block


# Where in memory a value is, by kind, from the location's row and the frame.
_ADDRESSES: dict[LocationKind, Callable[[Any, Frame], int]] = {
    LocationKind.AT_CFA: lambda row, frame: frame.cfa + int(row["offset"]),
    LocationKind.AT_REGISTER: lambda row, frame: _register(frame, int(row["reg"])) + int(row["offset"]),
    LocationKind.AT_ADDRESS: lambda row, frame: frame.bias + int(row["address"]),
    LocationKind.AT_TLS: lambda row, frame: _thread_local_block(frame) + int(row["offset"]),
}
# What a value is that is not in memory.
_VALUES: dict[LocationKind, Callable[[Any, Frame], int]] = {
    LocationKind.REGISTER: lambda row, frame: _register(frame, int(row["reg"])),
    LocationKind.REGISTER_PLUS: lambda row, frame: _register(frame, int(row["reg"])) + int(row["offset"]),
    LocationKind.CFA_PLUS: lambda row, frame: frame.cfa + int(row["offset"]),
    LocationKind.CONSTANT: lambda row, _: int(row["address"]),
    LocationKind.ADDRESS: lambda row, frame: frame.bias + int(row["address"]),
}


@dataclass(frozen=True)
class _Reader:
    table: VariablesTable
    read_memory: ReadMemory

    def read(self, address: int, size: int) -> bytes:
        content = self.read_memory(address & _WORD, size)
        if content is None or len(content) != size:
            raise _UnreadableError
        return content

    def content(self, row: Any, frame: Frame, calls: int) -> bytes:
        """The value's bytes; `calls` bounds how far up entry values are looked for."""
        kind, size = LocationKind(int(row["kind"])), int(row["size"])
        if kind in _ADDRESSES:
            return self.read(_ADDRESSES[kind](row, frame), size)
        if kind is LocationKind.VECTOR:
            if int(row["reg"]) not in frame.vectors:
                raise _UnreadableError
            return frame.vectors[int(row["reg"])][:size]
        if kind is LocationKind.EXPRESSION:
            start = int(row["offset"])
            value = self.run(self.table.expressions[start : start + int(row["address"])], frame, calls)
            if not int(row["flags"]) & Flag.STACK_VALUE:
                return self.read(value, size)
        elif kind is LocationKind.ENTRY:
            value = self.at_entry(frame, int(row["reg"]), int(row["address"]), calls)
        else:
            value = _VALUES[kind](row, frame)
        return (value & _WORD).to_bytes(8, "little")[:size]

    def field(self, one: Any, pointer: int) -> int | float:
        if not pointer:
            raise _UnreadableError
        flags, at = int(one["flags"]), pointer + int(one["offset"])
        if flags & Flag.SPAN:
            start, end = struct.unpack("<qq", self.read(at, 16))
            return _divide(end - start, int(one["scale"]))
        return _number(self.read(at, int(one["size"])), flags)

    def at_entry(self, frame: Frame, reg: int, entry: int, calls: int) -> int:
        """What `reg` held when the frame's function was called, as the caller still knows it."""
        if frame.caller is None or frame.return_address is None or not calls:
            raise _UnreadableError
        table = self.table
        site = int(np.searchsorted(table.call_sites["return_address"], frame.return_address - frame.bias))
        known = table.call_sites["return_address"][site : site + 1].tolist() == [frame.return_address - frame.bias]
        if not known or int(table.call_sites["target"][site]) != entry:
            raise _UnreadableError
        first, count = int(table.call_sites["first"][site]), int(table.call_sites["count"][site])
        for parameter in table.call_parameters[first : first + count]:
            if int(parameter["reg"]) == reg:
                row = table.locations[int(parameter["location"])]
                return int.from_bytes(self.content(row, frame.caller, calls - 1), "little")
        raise _UnreadableError

    def run(self, content: bytes, frame: Frame, calls: int) -> int:
        code, stack = _Code(content), list[int]()
        while code.at < len(content):
            operator = code.take("<B")
            if operator in _BINARY:
                right, left = stack.pop(), stack.pop()
                stack.append(int(_BINARY[operator](left, right)) & _WORD)
            elif operator in _UNARY:
                stack.append(_UNARY[operator](stack.pop()) & _WORD)
            elif operator in _SHUFFLES:
                _SHUFFLES[operator](stack, code)
            elif operator in (0x06, 0x94):  # deref, deref_size
                size = 8 if operator == 0x06 else code.take("<B")
                stack.append(int.from_bytes(self.read(stack.pop(), size), "little"))
            elif operator == 0x23:  # plus_uconst
                stack.append((stack.pop() + code.leb(signed=False)) & _WORD)
            elif operator == 0xA3:  # entry_value
                reg, entry = code.take("<B"), code.take("<I")
                stack.append(self.at_entry(frame, reg, entry, calls))
            else:
                stack.append(_pushed(operator, code, frame) & _WORD)
        return stack[-1]


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _divide(left: int, right: int) -> int:
    """As C divides: towards zero."""
    if right == 0:
        raise _UnreadableError
    quotient = abs(left) // abs(right)
    result = quotient if (left < 0) == (right < 0) else -quotient
    if not -(1 << 63) <= result < 1 << 63:
        raise _UnreadableError
    return result


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise _UnreadableError
    return left % right


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1B: lambda a, b: _divide(_signed(a), _signed(b)),
    0x1C: lambda a, b: a - b,
    0x1D: _modulo,
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << b if b < 64 else 0,
    0x25: lambda a, b: a >> b if b < 64 else 0,
    0x26: lambda a, b: _signed(a) >> min(b, 63),
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: a == b,
    0x2A: lambda a, b: _signed(a) >= _signed(b),
    0x2B: lambda a, b: _signed(a) > _signed(b),
    0x2C: lambda a, b: _signed(a) <= _signed(b),
    0x2D: lambda a, b: _signed(a) < _signed(b),
    0x2E: lambda a, b: a != b,
}
_UNARY: dict[int, Callable[[int], int]] = {
    0x19: lambda a: abs(_signed(a)),
    0x1F: lambda a: -a,
    0x20: lambda a: ~a,
}
_CONSTANTS = {0x08: "<B", 0x09: "<b", 0x0A: "<H", 0x0B: "<h", 0x0C: "<I", 0x0D: "<i", 0x0E: "<Q", 0x0F: "<q"}


class _Code:
    """An expression's bytes, read from the front."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.content, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def leb(self, *, signed: bool) -> int:
        value = shift = 0
        while True:
            byte = self.take("<B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value


def _swap(stack: list[int], _: _Code) -> None:
    stack[-2:] = [stack[-1], stack[-2]]


def _rotate(stack: list[int], _: _Code) -> None:
    stack[-3:] = [stack[-1], stack[-3], stack[-2]]


_SHUFFLES: dict[int, Callable[[list[int], _Code], object]] = {
    0x12: lambda stack, _: stack.append(stack[-1]),
    0x13: lambda stack, _: stack.pop(),
    0x14: lambda stack, _: stack.append(stack[-2]),
    0x15: lambda stack, code: stack.append(stack[-1 - code.take("<B")]),
    0x16: _swap,
    0x17: _rotate,
}


def _pushed(operator: int, code: _Code, frame: Frame) -> int:
    if operator in _CONSTANTS:
        return code.take(_CONSTANTS[operator])
    if operator in (0x10, 0x11):  # constu, consts
        return code.leb(signed=operator == 0x11)
    if 0x30 <= operator <= 0x4F:
        return operator - 0x30
    if 0x70 <= operator <= 0x8F:
        return _register(frame, operator - 0x70) + code.leb(signed=True)
    if operator == 0x03:
        return code.take("<Q") + frame.bias
    if operator == 0x9C:
        return frame.cfa
    raise ValueError(f"operator {operator:#x} is not part of the table's expressions")
