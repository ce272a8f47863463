"""Numbers spread in registers of 64-bit ARM, without changing flags or other registers."""

from __future__ import annotations

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes.aarch64 import words
from whyperf.debuginfo.probes.observed_places import NotPlaced, SpreadNumber
from whyperf.debuginfo.probes.spreading import steps

_STACK_POINTER, _VECTORS = 31, 32
_HELD = 16  # the general register in which floating-point numbers are spread
_PUSH, _POP = 0xF81F0FE0 | _HELD, 0xF84107E0 | _HELD
_WIDE = 1 << 31
_WIDE_FLOAT = _WIDE | 1 << 22
_TO_GENERAL, _FROM_GENERAL, _AS_FLOAT = 0x1E260000, 0x1E270000, 0x1E220000


def spread_in_place(number: SpreadNumber) -> list[int]:
    if number.size not in (4, 8):
        raise NotPlaced("only numbers of 4 or 8 bytes can be spread")
    if 0 <= number.register < _STACK_POINTER:
        return _general(number.register, number.size, number.bits)
    if VECTOR <= number.register < VECTOR + _VECTORS:
        return _float(number.register - VECTOR, number.size, number.bits)
    raise NotPlaced("that register cannot be forced")


def _general(register: int, size: int, bits: int | None) -> list[int]:
    if bits is None:
        return [words.copy(register, register)]
    wide = _WIDE if size > 4 else 0
    operands = register << 16 | register << 5 | register
    mixed = [
        wide | (words.ADD_SHIFTED if step.to_the_left else words.XOR_SHIFTED) | step.shift << 10 | operands
        for step in steps(size)
    ]
    cut = words.low_bits(register, bits) if bits else words.move_half(register, 0, 0, keeps=False)
    return [*mixed, cut]


def _float(register: int, size: int, bits: int | None) -> list[int]:
    """By way of a general register: the program's value of that is on the stack meanwhile."""
    wide = _WIDE_FLOAT if size > 4 else 0
    there = wide | _TO_GENERAL | register << 5 | _HELD
    back = wide | (_FROM_GENERAL if bits is None else _AS_FLOAT) | _HELD << 5 | register
    mixed = [] if bits is None else _general(_HELD, size, bits)
    return [_PUSH, there, *mixed, back, _POP]
