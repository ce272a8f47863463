"""Registers that aarch64 code keeps on the stack for a while: places there, numbered like registers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from whyperf.debuginfo.transplants.aarch64.access import access_by

_STORE, _LOAD, _FORM = 0xF9000000, 0xF9400000, 0xFFC00000
_STORE_PAIR, _LOAD_PAIR = 0xA9000000, 0xA9400000
_STACK = 31
_PLACES = 1 << 16  # above all numbers of registers
_WORD = 8
_LONGEST = 64
_ACCESS = re.compile(r"\[(sp|x29)(?:, #(\w+))?\]$")
_MOVES = re.compile(r"(sp,|.*\[(?:sp|x29)(?:\]!?,|.*\]!))")


@dataclass(frozen=True)
class StackAccess:
    """Of a whole register."""

    register: int
    place: int
    is_load: bool


def stack_accesses(word: int) -> tuple[StackAccess, ...]:
    """Of one register, or a pair of them, at a constant distance from where the stack ends."""
    if word >> 5 & 31 != _STACK:
        return ()
    if word & _FORM in (_STORE, _LOAD):
        place = _PLACES + _WORD * (word >> 10 & 0xFFF)
        return (StackAccess(word & 31, place, word & _FORM == _LOAD),)
    if word & _FORM in (_STORE_PAIR, _LOAD_PAIR):
        place = _PLACES + _WORD * ((word >> 15 & 0x7F ^ 0x40) - 0x40)
        is_load = word & _FORM == _LOAD_PAIR
        return StackAccess(word & 31, place, is_load), StackAccess(word >> 10 & 31, place + _WORD, is_load)
    return ()


def stack_written(mnemonic: str, operands: str, word: int, known: Iterable[int]) -> set[int]:
    """Places among those known that an instruction may overwrite, or to which it moves the stack."""
    places = {one for one in known if one >= _PLACES}
    if not places:
        return places
    if _MOVES.match(operands):
        return places
    if not mnemonic.startswith("st"):
        return set()
    found = _ACCESS.search(operands)
    if not found:
        return set()
    if found[1] != "sp":
        return places
    at = _PLACES + int(found[2] or "0", 0)
    access = access_by(word)
    return {one for one in places if at - _WORD < one < at + (access.size if access is not None else _LONGEST)}
