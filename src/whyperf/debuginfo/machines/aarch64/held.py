"""What registers of aarch64 hold, as far as it has to do with addresses, and what single instructions make of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from whyperf.debuginfo.machines.machine import TableJump


@dataclass(frozen=True)
class Address:
    value: int


@dataclass(frozen=True)
class LoadedPointer:
    """A pointer from a fixed address."""

    slot: int


@dataclass(frozen=True)
class Below:
    """A number less than that."""

    bound: int


@dataclass(frozen=True)
class Entry:
    """Of a table, or of any array."""

    size: int
    is_signed: bool
    table: int | None
    entries: int | None


Held = Address | LoadedPointer | Below | Entry | TableJump
Known = Mapping[int, Held]
"""By register."""


class Made(NamedTuple):
    """What comes of an instruction."""

    mnemonic: str
    operands: str
    """What it reads as."""
    held: Held | None = None
    """By the register that is its first operand."""
    by_way_of: int | None = None
    """The address from which another one was counted."""


BOUND = -1
"""In place of a register: what a comparison said last, of whatever it compared."""
NOTHING: Known = {}
LOST_IN_CALLS = frozenset((*range(19), 30))

_NO_REGISTER = -2
_POINTER_BYTES = 8
_TELLING_BYTES = 4
"""Of entries that hardly lead to an instruction by chance: a table of such shows itself where it ends."""
_GENERAL = re.compile(r"\b[xw](\d+)\b")
_FIRST = re.compile(r"[xw](\d+)\b")
_PLACE = re.compile(r"\[x(\d+)(?:, #(-?\w+))?\]$")
_INDEXED = re.compile(r"([xw])\d+, \[x(\d+), [xw](\d+)(?:, \w+(?: #(\d))?)?\]$")
_LITERAL = re.compile(r"(\w+), #(\w+)$")
_SUM = re.compile(r"x\d+, x(\d+), #(\w+)(, lsl #12)?$")
_SCALED_SUM = re.compile(r"x\d+, x(\d+), [xw](\d+)(?:, (\w+)(?: #(\d))?)?$")
_COPY = re.compile(r"[xw]\d+, [xw](\d+)$")
_MASK = re.compile(r"[xw]\d+, [xw]\d+, #(\w+)$")
_COMPARED = re.compile(r"(?:[xw]\w+, )?[xw](\d+), #(\w+)$")
_LOADS = {"ldrb": (1, False), "ldrsb": (1, True), "ldrh": (2, False), "ldrsh": (2, True), "ldrsw": (4, True)}
# By how much the values that go on outnumber the number which was compared: those that fall through, that jump.
_FALLING = {"b.hi": 1, "b.hs": 0, "b.gt": 1, "b.ge": 0}
_JUMPING = {"b.ls": 1, "b.lo": 0, "b.le": 1, "b.lt": 0}
_MOST_ENTRIES = 1 << 12
_COMPARES = frozenset({"cmp", "cmn", "tst", "ccmp", "ccmn"})
SETS_FLAGS = _COMPARES | {"fcmp", "fcmpe", "fccmp", "fccmpe", "adds", "subs", "ands", "bics", "adcs", "sbcs"}
_WRITES_NOTHING = _COMPARES | {"nop", "prfm", "prfum", "msr"}
_NONE: frozenset[int] = frozenset()


def common(one: Known, other: Known) -> Known:
    """What is known on both of two ways."""
    if one is other:
        return one
    return {key: held for key, held in one.items() if other.get(key) == held}


def without_bounds(known: Known) -> Known:
    """Numbers change where code is repeated."""
    if not any(isinstance(held, Below) for held in known.values()):
        return known
    return {key: held for key, held in known.items() if not isinstance(held, Below)}


def first_register(operands: str) -> int:
    found = _FIRST.match(operands)
    return int(found[1]) if found else _NO_REGISTER


@lru_cache(maxsize=1 << 16)
def written(mnemonic: str, operands: str) -> Set[int]:
    """General registers to which an instruction may write that neither jumps nor calls."""
    if mnemonic in _WRITES_NOTHING:
        return _NONE
    found: set[int] = set()
    values, bracket, place = operands.partition("[")
    if bracket and ("]!" in place or "], " in place):
        found.add(first_register(place))
    if mnemonic.startswith("st") and "xr" not in mnemonic and "xp" not in mnemonic:
        return found
    registers = [int(number) for number in _GENERAL.findall(values)]
    return found.union(registers if bracket else registers[:1])


def compared_in(mnemonic: str, operands: str) -> tuple[int, int] | None:
    """A register and a number."""
    found = _COMPARED.match(operands) if mnemonic in ("cmp", "subs") else None
    return (int(found[1]), int(found[2], 0)) if found else None


def bounded(known: Known, compared: tuple[int, int] | None, mnemonic: str) -> tuple[Known, Known]:
    """What is known where a conditional jump leads, and behind it."""
    if compared is None or compared[1] > _MOST_ENTRIES:
        return known, known
    register, number = compared
    sides = [known, known]
    for side, more in enumerate((_JUMPING.get(mnemonic), _FALLING.get(mnemonic))):
        if more is not None:
            below = Below(number + more)
            sides[side] = {**known, register: below, BOUND: below}
    return sides[0], sides[1]


def table_jump(held: Held | None) -> TableJump | None:
    """What a jump to an address that was made so goes through; None: through no table."""
    if isinstance(held, Entry) and held.size == _POINTER_BYTES:
        return TableJump(held.size, held.is_signed, 0, None, held.table, held.entries)
    return held if isinstance(held, TableJump) else None


def made(known: Known, mnemonic: str, operands: str) -> Made | None:
    """From what is known before; None where nothing is to be said."""
    make = _MAKING.get(mnemonic)
    if make is not None and (known or mnemonic in _FROM_NOTHING):
        return make(known, mnemonic, operands)
    return _accessed(known, mnemonic, operands)._replace(held=None) if known and "[x" in operands else None


def _accessed(known: Known, mnemonic: str, operands: str) -> Made:
    place = _PLACE.search(operands)
    base = known.get(int(place[1])) if place else None
    if not place or not isinstance(base, Address):
        return Made(mnemonic, operands)
    address = base.value + int(place[2] or "0", 0)
    return Made(mnemonic, f"{operands[: place.start()]}[{address:#x}]", LoadedPointer(address), base.value)


def _loaded(known: Known, mnemonic: str, operands: str) -> Made:
    literal = _LITERAL.match(operands)
    if literal:
        return Made(mnemonic, f"{literal[1]}, [{int(literal[2], 0):#x}]")
    indexed = _INDEXED.match(operands)
    if indexed:
        return Made(mnemonic, operands, _entry(known, mnemonic, indexed))
    found = _accessed(known, mnemonic, operands)
    return found if mnemonic == "ldr" and operands[0] == "x" else found._replace(held=None)


def _entry(known: Known, mnemonic: str, indexed: re.Match[str]) -> Entry | None:
    size, is_signed = _LOADS.get(mnemonic, (_POINTER_BYTES if indexed[1] == "x" else 4, False))
    if size != 1 << int(indexed[4] or "0"):
        return None
    table = known.get(int(indexed[2]))
    bound = known.get(int(indexed[3]))
    if not isinstance(bound, Below) and size < _TELLING_BYTES:
        bound = known.get(BOUND)
    return Entry(
        size,
        is_signed,
        table.value if isinstance(table, Address) else None,
        bound.bound if isinstance(bound, Below) else None,
    )


def _addressed(_known: Known, mnemonic: str, operands: str) -> Made:
    literal = _LITERAL.match(operands)
    if literal is None:
        return Made(mnemonic, operands)
    address = int(literal[2], 0)
    return Made(mnemonic, operands if mnemonic == "adrp" else f"{literal[1]}, [{address:#x}]", Address(address))


def _added(known: Known, mnemonic: str, operands: str) -> Made:
    found = _SUM.match(operands)
    base = known.get(int(found[1])) if found else None
    if found and isinstance(base, Address):
        address = base.value + (int(found[2], 0) << (12 if found[3] else 0))
        return Made("adr", f"{operands.partition(',')[0]}, [{address:#x}]", Address(address), base.value)
    scaled = _SCALED_SUM.match(operands)
    if scaled is None:
        return Made(mnemonic, operands)
    base, entry = known.get(int(scaled[1])), known.get(int(scaled[2]))
    if isinstance(base, Entry) and not scaled[3]:
        base, entry = entry, base
    if not isinstance(entry, Entry):
        return Made(mnemonic, operands)
    return Made(mnemonic, operands, _distance_added(base, entry, scaled[3] or "", int(scaled[4] or "0")))


def _distance_added(base: Held | None, entry: Entry, extension: str, shift: int) -> TableJump | None:
    from_table = not isinstance(base, Address) or base.value == entry.table
    if from_table and shift:
        return None  # whatever the distance is counted from
    is_signed = entry.is_signed or extension.startswith("sxt")
    origin = base.value if isinstance(base, Address) and not from_table else None
    return TableJump(entry.size, is_signed, shift, origin, entry.table, entry.entries)


def _copied(known: Known, mnemonic: str, operands: str) -> Made:
    found = _COPY.match(operands)
    held = known.get(int(found[1])) if found else None
    if isinstance(held, Entry) and mnemonic.startswith("sxt"):
        held = replace(held, is_signed=True)
    return Made(mnemonic, operands, held)


def _masked(_known: Known, mnemonic: str, operands: str) -> Made:
    found = _MASK.match(operands)
    bound = int(found[1], 0) + 1 if found else 0
    return Made(mnemonic, operands, Below(bound) if 0 < bound <= _MOST_ENTRIES else None)


_FROM_NOTHING = frozenset({"adrp", "adr", "and", "ldr", *_LOADS})
_MAKING: dict[str, Callable[[Known, str, str], Made]] = {
    "adrp": _addressed,
    "adr": _addressed,
    "add": _added,
    "and": _masked,
    **dict.fromkeys(("ldr", *_LOADS), _loaded),
    **dict.fromkeys(("mov", "sxtb", "sxth", "sxtw", "uxtb", "uxth", "uxtw"), _copied),
}
