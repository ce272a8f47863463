"""What a location in the variables table holds, given a stopped thread's frames: the readable twin of the C reader.

Not used while recording. It says in Python what `native/values/table.h` says in prose, and tests compare both with
debuggers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from whyperf.debuginfo.variables_table import Flag, Kind, VariablesTable

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
    """xmm registers; none in callers."""
    return_address: int | None = None
    """Run-time address in the caller."""
    caller: Frame | None = None


class _Unreadable(Exception):
    pass


def evaluate(table: VariablesTable, location: int, frame: Frame, read_memory: ReadMemory) -> int | float | None:
    """The value of row `location` of the locations; None when it cannot be read."""
    row = table.locations[location]
    try:
        return _number(_content(table, row, frame, read_memory, _CALLS_MAX), int(row["flags"]))
    except _Unreadable:
        return None


def evaluate_fields(
    table: VariablesTable, location: int, pointer: int, read_memory: ReadMemory
) -> Iterator[tuple[int, int | float | None]]:
    """The variables behind a pointer that row `location` gave, and their values."""
    row = table.locations[location]
    first = int(row["first_field"])
    for one in table.fields[first : first + int(row["field_count"])]:
        try:
            yield int(one["variable"]), _field(one, pointer, read_memory)
        except _Unreadable:
            yield int(one["variable"]), None


def _field(one: np.void, pointer: int, read_memory: ReadMemory) -> int | float:
    if not pointer:
        raise _Unreadable
    flags, at = int(one["flags"]), (pointer + int(one["offset"])) & _WORD
    if flags & Flag.SPAN:
        start, end = struct.unpack("<qq", _read(read_memory, at, 16))
        return _divide(end - start, int(one["scale"]))
    return _number(_read(read_memory, at, int(one["size"])), flags)


def _read(read_memory: ReadMemory, address: int, size: int) -> bytes:
    content = read_memory(address & _WORD, size)
    if content is None or len(content) != size:
        raise _Unreadable
    return content


def _number(content: bytes, flags: int) -> int | float:
    if flags & Flag.FLOAT:
        return float(struct.unpack("<f" if len(content) == 4 else "<d", content)[0])
    return int.from_bytes(content, "little", signed=bool(flags & Flag.SIGNED))


def _register(frame: Frame, number: int) -> int:
    if number not in frame.registers:
        raise _Unreadable
    return frame.registers[number]


def _content(table: VariablesTable, row: np.void, frame: Frame, read_memory: ReadMemory, calls: int) -> bytes:
    """The value's bytes."""
    kind, size = Kind(int(row["kind"])), int(row["size"])
    reg, offset, address = int(row["reg"]), int(row["offset"]), int(row["address"])
    if kind is Kind.VECTOR:
        if reg not in frame.vectors:
            raise _Unreadable
        return frame.vectors[reg][:size]
    if kind is Kind.AT_TLS and frame.thread_local_block is None:
        raise _Unreadable
    if kind in (Kind.AT_CFA, Kind.AT_REGISTER, Kind.AT_ADDRESS, Kind.AT_TLS):
        base = {
            Kind.AT_CFA: lambda: frame.cfa,
            Kind.AT_REGISTER: lambda: _register(frame, reg),
            Kind.AT_ADDRESS: lambda: address + frame.bias,
            Kind.AT_TLS: lambda: frame.thread_local_block or 0,
        }[kind]()
        return _read(read_memory, base + offset, size)
    if kind is Kind.EXPRESSION:
        code = table.expressions[offset : offset + address]
        result = _run(table, code, frame, read_memory, calls)
        if not int(row["flags"]) & Flag.STACK_VALUE:
            return _read(read_memory, result, size)
    else:
        result = {
            Kind.REGISTER: lambda: _register(frame, reg),
            Kind.REGISTER_PLUS: lambda: _register(frame, reg) + offset,
            Kind.CFA_PLUS: lambda: frame.cfa + offset,
            Kind.CONSTANT: lambda: address,
            Kind.ADDRESS: lambda: address + frame.bias,
            Kind.ENTRY: lambda: _at_entry(table, frame, reg, address, read_memory, calls),
        }[kind]()
    return (result & _WORD).to_bytes(8, "little")[:size]


def _at_entry(table: VariablesTable, frame: Frame, reg: int, entry: int, read_memory: ReadMemory, calls: int) -> int:
    """What `reg` held when the frame's function was called, as the caller still knows it."""
    if frame.caller is None or frame.return_address is None or not calls:
        raise _Unreadable
    site = table.call_site(frame.return_address - frame.bias)
    if site is None or int(table.call_sites["target"][site]) != entry:
        raise _Unreadable
    first, count = int(table.call_sites["first"][site]), int(table.call_sites["count"][site])
    for parameter in table.call_parameters[first : first + count]:
        if int(parameter["reg"]) == reg:
            row = table.locations[int(parameter["location"])]
            return int.from_bytes(_content(table, row, frame.caller, read_memory, calls - 1), "little")
    raise _Unreadable


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _divide(left: int, right: int) -> int:
    """As C divides: towards zero."""
    if right == 0:
        raise _Unreadable
    quotient = abs(left) // abs(right)
    if quotient >> 63:
        raise _Unreadable
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda a, b: a & b,
    0x1B: lambda a, b: _divide(_signed(a), _signed(b)),
    0x1C: lambda a, b: a - b,
    0x1D: lambda a, b: _modulo(a, b),
    0x1E: lambda a, b: a * b,
    0x21: lambda a, b: a | b,
    0x22: lambda a, b: a + b,
    0x24: lambda a, b: a << b if b < 64 else 0,
    0x25: lambda a, b: a >> b if b < 64 else 0,
    0x26: lambda a, b: _signed(a) >> min(b, 63),
    0x27: lambda a, b: a ^ b,
    0x29: lambda a, b: _signed(a) == _signed(b),
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


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise _Unreadable
    return left % right


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


def _run(table: VariablesTable, content: bytes, frame: Frame, read_memory: ReadMemory, calls: int) -> int:
    code, stack = _Code(content), list[int]()
    while code.at < len(content):
        operator = code.take("<B")
        if operator in _BINARY:
            right, left = stack.pop(), stack.pop()
            stack.append(int(_BINARY[operator](left, right)) & _WORD)
        elif operator in _UNARY:
            stack.append(_UNARY[operator](stack.pop()) & _WORD)
        elif 0x12 <= operator <= 0x17:
            _shuffle(operator, code, stack)
        elif operator in (0x06, 0x94):  # deref, deref_size
            size = 8 if operator == 0x06 else code.take("<B")
            stack.append(int.from_bytes(_read(read_memory, stack.pop(), size), "little"))
        elif operator == 0x23:  # plus_uconst
            stack.append((stack.pop() + code.leb(signed=False)) & _WORD)
        else:
            stack.append(_pushed(table, operator, code, frame, read_memory, calls) & _WORD)
    return stack[-1]


def _pushed(
    table: VariablesTable, operator: int, code: _Code, frame: Frame, read_memory: ReadMemory, calls: int
) -> int:
    if operator in _CONSTANTS:
        return code.take(_CONSTANTS[operator])
    if operator in (0x10, 0x11):  # constu, consts
        return code.leb(signed=operator == 0x11)
    if 0x30 <= operator <= 0x4F:
        return operator - 0x30
    if 0x70 <= operator <= 0x7F:
        offset = code.leb(signed=True)
        return _register(frame, operator - 0x70) + offset
    if operator == 0x03:
        return code.take("<Q") + frame.bias
    if operator == 0x9C:
        return frame.cfa
    if operator == 0xA3:
        reg, entry = code.take("<B"), code.take("<I")
        return _at_entry(table, frame, reg, entry, read_memory, calls)
    raise ValueError(f"operator {operator:#x} is not part of the table's expressions")


def _shuffle(operator: int, code: _Code, stack: list[int]) -> None:
    if operator == 0x12:  # dup
        stack.append(stack[-1])
    elif operator == 0x13:  # drop
        stack.pop()
    elif operator == 0x14:  # over
        stack.append(stack[-2])
    elif operator == 0x15:  # pick
        stack.append(stack[-1 - code.take("<B")])
    elif operator == 0x16:  # swap
        stack[-2:] = [stack[-1], stack[-2]]
    else:  # rot
        stack[-3:] = [stack[-1], stack[-3], stack[-2]]
