"""Loads and stores of aarch64: how far from a register, and how much."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.debuginfo.probes.aarch64.words import Form
from whyperf.debuginfo.transplants.refused import RefusedError

_PLAIN = 0x3B000000, 0x39000000  # at a positive distance, in units of what is accessed
_SMALL = 0x3B200000, 0x38000000  # at any distance of up to 256 bytes, or with a changing register
_PAIR = 0x3A000000, 0x28000000
_BY_REGISTER = 0x3B200C00, 0x38200800
_VECTOR = 1 << 26
_KEEPS_REGISTER = 0xC00  # zeros there: a small distance that changes no register
_PAIR_FORM, _PAIR_KEEPS_REGISTER = 0x01800000, 0x01000000
_PLAIN_KEPT = 0xC4C003FF  # what it shares with its form for small distances
_UNITS = 0xFFF
_PAIR_UNITS = 0x7F
_SUBTRACT = 0xD1000000
_REGISTERS = 0x3FF  # the two of an addition


@dataclass(frozen=True)
class Access:
    distance: int
    size: int
    is_plain: bool
    """Its distance may be the rest of an address within a page."""
    is_changeable: bool


def access_by(word: int) -> Access | None:
    """None for what is no load or store that is understood."""
    if word & _PLAIN[0] == _PLAIN[1]:
        scale = scale_of(word)
        return Access((word >> 10 & _UNITS) << scale, 1 << scale, True, True)
    if word & _SMALL[0] == _SMALL[1]:
        keeps = not word & _KEEPS_REGISTER
        return Access((word >> 12 & 0x1FF ^ 0x100) - 0x100 if keeps else 0, 1 << scale_of(word), False, False)
    if word & _PAIR[0] == _PAIR[1]:
        scale = _pair_scale(word)
        keeps = word & _PAIR_FORM == _PAIR_KEEPS_REGISTER
        distance = ((word >> 15 & _PAIR_UNITS ^ 0x40) - 0x40) << scale if keeps else 0
        return Access(distance, 2 << scale, False, keeps)
    return Access(0, 1, False, False) if word & _BY_REGISTER[0] == _BY_REGISTER[1] else None


def scale_of(word: int) -> int:
    """Of what is accessed, as a power of two."""
    return word >> 30 | (word >> 23 & 1) << 2 if word & _VECTOR else word >> 30


def _pair_scale(word: int) -> int:
    return (word >> 30) + 2 if word & _VECTOR else 2 + (word >> 31)


def at_distance(word: int, distance: int) -> int:
    """The same access, or the address that it takes, so far from the register."""
    if Form.ADD.holds(word):
        if abs(distance) > _UNITS:
            raise RefusedError("data that it uses lies too far apart in the other build")
        return word & _REGISTERS | (Form.ADD.value[1] if distance >= 0 else _SUBTRACT) | abs(distance) << 10
    if word & _PLAIN[0] == _PLAIN[1]:
        units, rest = divmod(distance, 1 << scale_of(word))
        if not rest and 0 <= units <= _UNITS:
            return word & ~(_UNITS << 10) | units << 10
        if not -0x100 <= distance < 0x100:
            raise RefusedError("data that it uses lies too far apart in the other build")
        return word & _PLAIN_KEPT | _SMALL[1] | (distance & 0x1FF) << 12
    units, rest = divmod(distance, 1 << _pair_scale(word))
    if rest or not -0x40 <= units < 0x40:
        raise RefusedError("data that it uses lies too far apart in the other build")
    return word & ~(_PAIR_UNITS << 15) | (units & _PAIR_UNITS) << 15
