"""What variables begin with, where two builds differ in it."""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from whyperf.debuginfo.transplants.counterparts import is_made_by_compiler, paired_by_number
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind

_NUMBER = re.compile(r"\.\d+$")
_POINTER_BYTES = 8
_MOST_BYTES = 1 << 20
_RECORD = struct.Struct("<QII")


@dataclass(frozen=True)
class DifferentBytes:
    at: int
    """In the variable."""
    good: bytes
    bad: bytes


@dataclass(frozen=True)
class ChangedVariable:
    """A variable or named constant that both builds have, with other bytes in their files."""

    name: str
    good: Symbol
    bad: Symbol
    different: tuple[DifferentBytes, ...]

    def records(self, *, from_good: bool, into_good: bool) -> list[bytes]:
        """By which one build's variable begins as the other's, or as itself; `struct initial` in
        `native/probes/transplant.c`."""
        start = (self.good if into_good else self.bad).address
        return [
            _RECORD.pack(start + one.at, len(one.bad), 0)
            + (one.good if into_good else one.bad)
            + (one.good if from_good else one.bad)
            for one in self.different
        ]


def changed_variables(good: TransplantModule, bad: TransplantModule) -> list[ChangedVariable]:
    """Pointers in them do not count, and those of another size are not compared."""
    mine = _by_name(good)
    found = (
        ChangedVariable(name, one, other, tuple(_different(good, one, bad, other)))
        for (name, file), theirs in _by_name(bad).items()
        for one, other in paired_by_number(mine.get((name, file), set()), theirs)
        if one.size == other.size and _read(good, one) != _read(bad, other)
    )
    by_address = {one.bad.address: one for one in found if one.different}  # some have several names
    return list(by_address.values())


def _by_name(module: TransplantModule) -> Mapping[tuple[str, str], set[Symbol]]:
    """By name and file, without the numbers that compilers give statics within functions."""
    found: defaultdict[tuple[str, str], set[Symbol]] = defaultdict(set)
    for one in module.symbols.symbols:
        if one.kind is SymbolKind.DATA and 0 < one.size <= _MOST_BYTES and not is_made_by_compiler(one.name):
            found[_NUMBER.sub("", one.name), one.file].add(one)
    return found


def _read(module: TransplantModule, symbol: Symbol) -> bytes:
    return module.image.read(symbol.address, symbol.size).ljust(symbol.size, b"\0")


def _different(good: TransplantModule, one: Symbol, bad: TransplantModule, other: Symbol) -> Iterator[DifferentBytes]:
    mine, theirs = _read(good, one), _read(bad, other)
    for start, end in _between(_linked(good, one) | _linked(bad, other), other.size):
        if mine[start:end] != theirs[start:end]:
            yield DifferentBytes(start, mine[start:end], theirs[start:end])


def _linked(module: TransplantModule, symbol: Symbol) -> set[int]:
    """Where in it the dynamic linker writes pointers: everywhere, if it copies all of it from a library."""
    slots = module.image.slots
    if symbol.address in slots and slots[symbol.address].kind == module.machine.relocations.copy:
        return set(range(symbol.size))
    return {at for at in range(symbol.size) if symbol.address + at in slots}


def _between(pointers: Iterable[int], size: int) -> Iterator[tuple[int, int]]:
    start = 0
    for at in sorted(pointers):
        if at > start:
            yield start, at
        start = at + _POINTER_BYTES
    if start < size:
        yield start, size
