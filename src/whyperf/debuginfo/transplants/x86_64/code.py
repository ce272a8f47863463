"""Code of x86-64 that is changed and made for transplants."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.transplants.coding import EntryPatch, Saving
from whyperf.debuginfo.transplants.references import Reference

FILL = b"\xcc"
_DISTANCE = struct.Struct("<i")
_MARK = bytes((0xF3, 0x0F, 0x1E, 0xFA))  # endbr64
_JUMP_BYTES = 5
_STUB = bytes((0xFF, 0x25))  # jmp [rip + distance]
_STUB_BYTES = 6
_ENCODED = (0, 2, 1, 3, 6, 7, 5, 4, *range(8, 16))  # how instructions number what DWARF numbers so
_LOWER_STACK, _RAISE_STACK = bytes((0x48, 0x81, 0xEC)), bytes((0x48, 0x81, 0xC4))
_CALL, _RETURN = b"\xe8", b"\xc3"
_STORE, _LOAD = 0x89, 0x8B
_STORE_VECTOR, _LOAD_VECTOR = 0x11, 0x10  # movups


def redirected(copy: bytearray, reference: Reference, base: int, old: int, new: int) -> list[int]:
    """Has it lead to `new` instead of `old`, both as addresses in the copy's own room; where corrections are needed."""
    (site,) = reference.sites
    at = site - base
    (distance,) = _DISTANCE.unpack_from(copy, at)
    _DISTANCE.pack_into(copy, at, distance + new - old)
    return [at]


def counted(_copy: bytearray, _at: int, _distance: int) -> None:
    """Every access has its own distance: none counts from another's."""
    raise AssertionError


def import_stub(at: int, slot: int) -> bytes:
    """Goes on to what the slot holds."""
    return _STUB + _DISTANCE.pack(slot - at - _STUB_BYTES)


def entry_patch(content: bytes, _instead: bytes) -> EntryPatch:
    return EntryPatch(len(_MARK) if content.startswith(_MARK) else 0, _JUMP_BYTES)


def saving(registers: Iterable[int], at: int, target: int) -> Saving:
    """Calls the function at `target` and leaves these registers as they were."""
    general = sorted(one for one in registers if one < VECTOR)
    vectors = sorted(one - VECTOR for one in registers if one >= VECTOR)
    start = -(-len(general) // 2) * 16
    room = start + 16 * len(vectors) + 8  # a return address makes it a multiple of 16
    places = [(_ENCODED[one], 8 * row) for row, one in enumerate(general)]
    vector_places = [(one, start + 16 * row) for row, one in enumerate(vectors)]

    def moves(general_code: int, vector_code: int) -> bytes:
        made = [_at_stack(0x48, bytes((general_code,)), one, place) for one, place in places]
        made += [_at_stack(0x40, bytes((0x0F, vector_code)), one, place) for one, place in vector_places]
        return b"".join(made)

    before = _LOWER_STACK + _DISTANCE.pack(room) + moves(_STORE, _STORE_VECTOR)
    call = _CALL + _DISTANCE.pack(target - at - len(before) - len(_CALL) - _DISTANCE.size)
    after = moves(_LOAD, _LOAD_VECTOR) + _RAISE_STACK + _DISTANCE.pack(room) + _RETURN
    return Saving(before + call + after, len(before) + len(_CALL))


def _at_stack(prefix: int, code: bytes, register: int, place: int) -> bytes:
    """Moves a register to or from a place above the stack pointer."""
    mode = 0x84 | (register & 7) << 3
    return bytes((prefix | (register >> 3) << 2,)) + code + bytes((mode, 0x24)) + _DISTANCE.pack(place)
