"""Numbers spread in registers of x86-64, without changing flags or other registers."""

from __future__ import annotations

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.probes.observed_places import NotPlaced, SpreadNumber
from whyperf.debuginfo.probes.spreading import steps
from whyperf.debuginfo.probes.x86_64.encoding import ENCODED, STACK_POINTER

_VECTORS = 16
_RAX, _RCX = 0, 1
_BELOW_RED_ZONE, _ABOVE = b"\x48\x8d\x64\x24\x80", b"\x48\x8d\xa4\x24\x80\x00\x00\x00"  # lea rsp, [rsp -+ 128]
_PUSH_FLAGS, _POP_FLAGS = b"\x9c", b"\x9d"
_ADD, _XOR, _COPY = 0x01, 0x31, 0x89
_LEFT, _RIGHT, _AND = 4, 5, 4  # what the opcodes of shifts, and of operations with a number, are told apart by
_TO_GENERAL, _FROM_GENERAL, _AS_FLOAT = 0x7E, 0x6E, 0x2A


def spread_in_place(number: SpreadNumber) -> bytes:
    if number.size not in (4, 8):
        raise NotPlaced("only numbers of 4 or 8 bytes can be spread")
    if 0 <= number.register < len(ENCODED) and number.register != STACK_POINTER:
        register = ENCODED[number.register]
        if number.bits is None:
            return _between(_COPY, register, register, 8)
        return _kept((_RCX if register == _RAX else _RAX,), _mixed(register, number.size, number.bits))
    if VECTOR <= number.register < VECTOR + _VECTORS:
        return _kept((_RAX, _RCX), _float(number.register - VECTOR, number.size, number.bits))
    raise NotPlaced("that register cannot be forced")


def _kept(registers: tuple[int, ...], code: bytes) -> bytes:
    """With flags and registers as they were."""
    push, pop = (bytes(first + one for one in registers) for first in (0x50, 0x58))
    return _BELOW_RED_ZONE + _PUSH_FLAGS + push + code + pop[::-1] + _POP_FLAGS + _ABOVE


def _mixed(register: int, size: int, bits: int) -> bytes:
    """The other one of rax and rcx is free."""
    other = _RCX if register == _RAX else _RAX
    code = b""
    for step in steps(size):
        code += _between(_COPY, other, register, size)
        code += _rex(size, 0, other) + bytes((0xC1, _own(_LEFT if step.to_the_left else _RIGHT, other), step.shift))
        code += _between(_ADD if step.to_the_left else _XOR, register, other, size)
    mask: bytes = ((1 << bits) - 1).to_bytes(4, "little")
    return code + _rex(size, 0, register) + bytes((0x81, _own(_AND, register))) + mask


def _float(register: int, size: int, bits: int | None) -> bytes:
    there = b"\x66" + _rex(size, register, _RAX) + bytes((0x0F, _TO_GENERAL, _own(register, _RAX)))
    if bits is None:
        return there + b"\x66" + _rex(size, register, _RAX) + bytes((0x0F, _FROM_GENERAL, _own(register, _RAX)))
    prefix = b"\xf2" if size > 4 else b"\xf3"
    back = prefix + _rex(size, register, _RAX) + bytes((0x0F, _AS_FLOAT, _own(register, _RAX)))
    return there + _mixed(_RAX, size, bits) + back


def _between(opcode: int, to: int, register: int, size: int) -> bytes:
    return _rex(size, register, to) + bytes((opcode, _own(register, to)))


def _rex(size: int, register: int, other: int) -> bytes:
    return bytes((0x40 | (size > 4) << 3 | register >> 3 << 2 | other >> 3,))


def _own(register: int, other: int) -> int:
    """The byte that names two registers, or an operation and one."""
    return 0xC0 | (register & 7) << 3 | other & 7
