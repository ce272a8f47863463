"""Where in another build lies what a function refers to in its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from enum import Enum

from whyperf.debuginfo.image import RelocationSlot
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.references import CodePart, Reference, ReferenceEnd, Use
from whyperf.debuginfo.transplants.refused import MissingError, RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind

_CODE = frozenset({SymbolKind.FUNCTION, SymbolKind.CHOSEN_WHEN_LOADED})
_NUMBERED = re.compile(r"([^@]+)\.\d+$")
"""A symbol's version ends in a number as well: stdout@GLIBC_2.2.5."""
# Made by compilers: nobody compares their addresses, and their numbers change with whatever stands above.
_ANONYMOUS = re.compile(
    r"(CSWTCH|C|__func__|__FUNCTION__|__PRETTY_FUNCTION__|switch\.table|\.L\w*|\.?str|anon|reltable)(\..*)?$"
)
_SCALAR = 8  # bytes: nobody counts through so few
_CLONE = re.compile(r"(.+?)\.(isra|constprop|part|localalias|lto_priv)\.\d+")


def is_clone(name: str) -> bool:
    """Made by the compiler of a function, for some of its callers: its parameters may be others."""
    return source_of(name) != name


def is_made_by_compiler(name: str) -> bool:
    return _ANONYMOUS.match(name) is not None


def source_of(name: str) -> str:
    found = _CLONE.match(name)
    return found[1] if found else name


class CounterpartPlace(Enum):
    COPY = 0
    """In the copy, at the same distance as in the file that the function is from."""
    RECEIVER = 1
    """In the module that the function is put into."""
    IMPORTED = 2
    """In another module: a slot of the copy gets its address."""
    POINTER = 3
    """A slot of the copy gets the address of something in the receiving module."""


@dataclass(frozen=True)
class Counterpart:
    where: CounterpartPlace
    address: int = 0
    symbol: str = ""
    copy_will_do: bool = False
    """What lies there is the same as in the copy, and only read."""
    carried: Symbol | None = None
    """A function that the receiver does not have: it is copied too."""


_KEPT = Counterpart(CounterpartPlace.COPY)


@dataclass(frozen=True)
class FoundCounterpart:
    place: Counterpart
    distances: tuple[tuple[int, int], ...] = ()
    """Instructions that count from there, and how far what they access lies."""


class Counterparts:
    """`function`: the copied one, with its parts in the giver; `others`: names of data that it refers to."""

    def __init__(
        self,
        giver: TransplantModule,
        receiver: TransplantModule,
        function: Symbol,
        parts: Iterable[CodePart],
        others: Set[str],
    ) -> None:
        self._giver, self._receiver = giver, receiver
        self._function, self._own, self._others = function, tuple(parts), others

    def of(self, reference: Reference) -> FoundCounterpart:
        """Where it leads, and which distances change that are counted from there."""
        ends = {end: self._end(end) for end in reference.ends}
        places = set(ends.values())
        first = next(iter(places))
        if len(places) == 1 and first.where in (CounterpartPlace.IMPORTED, CounterpartPlace.POINTER):
            return FoundCounterpart(first)
        if all(one.where is CounterpartPlace.RECEIVER for one in places) and not self._is_better_copied(ends):
            address = self._address(reference, ends)
            return FoundCounterpart(
                Counterpart(CounterpartPlace.RECEIVER, address), _distances(ends, address - reference.target)
            )
        if all(one.where is CounterpartPlace.COPY or one.copy_will_do for one in places):
            carried = next((one for one in places if one.carried is not None), _KEPT)
            return FoundCounterpart(
                carried, tuple((end.site, end.target - end.counted_from) for end in ends if end.site)
            )
        raise RefusedError("data that it uses lies in another order in the other build")

    def _is_better_copied(self, ends: Mapping[ReferenceEnd, Counterpart]) -> bool:
        """Constants that did not keep their distances, and are only read."""
        moved = {one.address - end.target for end, one in ends.items()}
        return len(moved) > 1 and all(one.copy_will_do for one in ends.values())

    def _address(self, reference: Reference, ends: Mapping[ReferenceEnd, Counterpart]) -> int:
        """Where it leads to: what cannot change its distance decides."""
        moved = {
            is_fixed: {one.address - end.target for end, one in ends.items() if (end.site is None) == is_fixed}
            for is_fixed in (True, False)
        }
        if len(moved[True]) > 1:
            raise RefusedError("data that it uses lies in another order in the other build")
        return reference.target + min(moved[True] or moved[False])

    def _end(self, end: ReferenceEnd) -> Counterpart:
        found = self._place(end.target, end.use)
        if end.use is Use.ACCESS and end.size > 1 and found.where is CounterpartPlace.RECEIVER:
            for other in {one.address for one in self._giver.symbols.within(end.target + 1, end.target + end.size)}:
                if self._place(other, end.use).address - other != found.address - end.target:
                    raise RefusedError("it accesses variables together that are not side by side in the other build")
        return found

    def _place(self, target: int, use: Use) -> Counterpart:
        if self._is_own(target) and not (use is Use.ADDRESS and target == self._function.address):
            return _KEPT
        if self._giver.is_linkage(target):
            return self._stub(target)
        section = self._giver.symbols.section_at(target)
        if section is None:
            return self._at_end(target, use)
        if section.is_code:
            return self._code(target, use)
        if not section.is_writable:
            return self._constant(target, use)
        return self._variable(target, use)

    def _is_own(self, address: int) -> bool:
        return any(part.holds(address) for part in self._own)

    def _stub(self, target: int) -> Counterpart:
        name = self._giver.imported_by.get(target)
        if name is None:
            raise RefusedError("it calls a function that is chosen when the program is loaded (ifunc)")
        stub = self._receiver.stubs.get(name)
        return (
            Counterpart(CounterpartPlace.IMPORTED, symbol=name)
            if stub is None
            else Counterpart(CounterpartPlace.RECEIVER, stub)
        )

    def _code(self, target: int, use: Use) -> Counterpart:
        symbols = [one for one in self._giver.symbols.holding(target) if one.kind in _CODE]
        if not symbols and use is Use.ACCESS:
            return _KEPT  # constants among the code
        if not symbols:
            raise RefusedError(f"what it calls at {target:#x} has no name")
        if all(one.address != target for one in symbols):
            raise RefusedError(f"it jumps into the midst of {symbols[0].name}")
        try:
            return Counterpart(CounterpartPlace.RECEIVER, self._same(symbols, target))
        except MissingError:
            return Counterpart(CounterpartPlace.COPY, carried=symbols[0])

    def _constant(self, target: int, use: Use) -> Counterpart:
        symbols = [one for one in self._giver.symbols.holding(target) if not _ANONYMOUS.match(one.name)]
        if not symbols:
            return _KEPT
        try:
            found = self._same(symbols, target)
        except RefusedError:
            return _KEPT  # nobody else knows it
        if not all(self._is_equal(one) for one in symbols):
            return _KEPT  # another content: the function was made for this one
        self._check_end(target, use, found)
        return Counterpart(CounterpartPlace.RECEIVER, found, copy_will_do=use is Use.ACCESS)

    def _is_equal(self, symbol: Symbol) -> bool:
        other = self._named(symbol)
        content = self._giver.image.read(symbol.address, symbol.size)
        return other.size == symbol.size and content == self._receiver.image.read(other.address, other.size)

    def _variable(self, target: int, use: Use) -> Counterpart:
        symbols = [one for one in self._giver.symbols.holding(target) if one.kind is SymbolKind.DATA]
        if not symbols:
            slot = self._giver.image.slots.get(target)
            return self._at_end(target, use) if slot is None else self._slot(slot)
        for one in symbols:
            self._check_pointers(one)
        found = self._same(symbols, target)
        self._check_end(target, use, found)
        return Counterpart(CounterpartPlace.RECEIVER, found)

    def _at_end(self, target: int, use: Use) -> Counterpart:
        """An address up to which a variable is counted through."""
        ending = self._giver.symbols.ending_at(target) if use is Use.ADDRESS else []
        found = {self._named(one).end for one in ending if one.kind is SymbolKind.DATA}
        if len(found) != 1:
            raise RefusedError(f"it uses data at {target:#x} that has no name")
        return Counterpart(CounterpartPlace.RECEIVER, found.pop())

    def _check_pointers(self, symbol: Symbol) -> None:
        """A table of labels: the other build's leads to its own code."""
        kind = self._giver.machine.relocations.relative
        for address in range(symbol.address, symbol.end, 8):
            slot = self._giver.image.slots.get(address)
            if slot is not None and slot.kind == kind and self._is_inside(slot.addend):
                raise RefusedError(f"{symbol.name} points into it (computed goto)")

    def _is_inside(self, address: int) -> bool:
        return any(part.low < address < part.high for part in self._own)

    def _check_end(self, target: int, use: Use, found: int) -> None:
        """An address that is taken may be the end of the variable before: then both must lie side by side there too."""
        if use is not Use.ADDRESS:
            return
        for before in self._giver.symbols.ending_at(target):
            if before.size > _SCALAR and before.name in self._others and self._named(before).end != found:
                raise RefusedError(f"it may count up to the end of {before.name}, which lies elsewhere")

    def pointer(self, slot: RelocationSlot) -> Counterpart:
        """What the dynamic linker puts into a slot, for a slot of the copy."""
        kinds = self._giver.machine.relocations
        if slot.kind == kinds.relative:
            return Counterpart(CounterpartPlace.POINTER, self._pointed(slot.addend))
        if slot.kind not in (kinds.global_data, kinds.absolute) or slot.addend:
            raise RefusedError("it finds something by a pointer of an unknown kind")
        return Counterpart(CounterpartPlace.IMPORTED, symbol=slot.symbol)

    def _slot(self, slot: RelocationSlot) -> Counterpart:
        kinds = self._giver.machine.relocations
        if slot.kind == kinds.chosen_when_loaded:
            raise RefusedError("it uses a function that is chosen when the program is loaded (ifunc)")
        if slot.kind == kinds.relative:
            return Counterpart(CounterpartPlace.POINTER, self._pointed(slot.addend))
        if slot.kind not in (kinds.global_data, kinds.jump_slot, kinds.absolute):
            raise RefusedError("it uses thread-local data by way of the dynamic linker")
        if slot in self._receiver.slot_of:
            return Counterpart(CounterpartPlace.RECEIVER, self._receiver.slot_of[slot])
        if slot.addend:
            raise RefusedError(f"{slot.symbol} has no counterpart")
        return Counterpart(CounterpartPlace.IMPORTED, symbol=slot.symbol)

    def _pointed(self, address: int) -> int:
        symbols = self._giver.symbols.holding(address)
        if not symbols:
            raise RefusedError(f"it uses data at {address:#x} that has no name")
        return self._same(symbols, address)

    def _same(self, symbols: list[Symbol], address: int) -> int:
        """Aliases may be missing there, but those that are not must agree."""
        found: set[int] = set()
        missing: MissingError | None = None
        for one in symbols:
            try:
                other = self._named(one)
            except MissingError as error:
                missing = error
                continue
            if address - one.address > 0 and address - one.address >= other.size:
                raise RefusedError(f"{one.name} is smaller in the other build")
            found.add(other.address + address - one.address)
        if not found and missing is not None:
            raise missing
        if len(found) != 1:
            raise RefusedError(f"{symbols[0].name} has several counterparts")
        return found.pop()

    def _named(self, symbol: Symbol) -> Symbol:
        if symbol.kind is SymbolKind.CHOSEN_WHEN_LOADED:
            raise RefusedError(f"{symbol.name} is chosen when the program is loaded (ifunc)")
        found = _matching(symbol, self._receiver.symbols.named(symbol.name))
        if (numbered := _NUMBERED.match(symbol.name)) and not is_clone(symbol.name):
            found = self._numbered(symbol, numbered[1])
        if not found:
            raise MissingError(f"{symbol.name} has no counterpart in the other build")
        if len({one.address for one in found}) > 1:
            raise RefusedError(f"{symbol.name} is ambiguous: several are called so")
        other = found[0]
        if other.kind is SymbolKind.CHOSEN_WHEN_LOADED:
            raise RefusedError(f"{symbol.name} is chosen when the program is loaded (ifunc)")
        if symbol.kind is SymbolKind.DATA and symbol.size > other.size:
            raise RefusedError(f"{symbol.name} is smaller in the other build")
        return other

    def _numbered(self, symbol: Symbol, stem: str) -> list[Symbol]:
        pattern = re.compile(re.escape(stem) + r"\.\d+$")
        mine, theirs = (
            [one for one in _matching(symbol, side.symbols.starting_with(stem + ".")) if pattern.match(one.name)]
            for side in (self._giver, self._receiver)
        )
        pairs = paired_by_number(mine, theirs)
        if not pairs:
            raise RefusedError(f"{symbol.name} is ambiguous: several are called so")
        return [other for one, other in pairs if one.name == symbol.name]


def _distances(ends: Mapping[ReferenceEnd, Counterpart], moved: int) -> tuple[tuple[int, int], ...]:
    """Of instructions that count from addresses which are moved by so much."""
    return tuple((end.site, one.address - (end.counted_from + moved)) for end, one in ends.items() if end.site)


def _matching(symbol: Symbol, candidates: Iterable[Symbol]) -> list[Symbol]:
    """Of the same kind and, if static, of the same source file; a static one may have become global, or the reverse."""
    same = [one for one in candidates if (one.kind in _CODE) == (symbol.kind in _CODE)]
    return [one for one in same if one.file == symbol.file] or [one for one in same if not one.file or not symbol.file]


def paired_by_number(mine: Collection[Symbol], theirs: Collection[Symbol]) -> list[tuple[Symbol, Symbol]]:
    """Those of one name and file in two builds, but for their numbers. Statics within functions, and clones, are
    numbered in the order of the text: where there are several, all must be there, with the same sizes. Empty: which
    belong together is not known."""
    if len(mine) == len(theirs) == 1:
        return list(zip(mine, theirs, strict=True))
    pairs = list(zip(_by_name(mine), _by_name(theirs), strict=False))
    are_alike = len(mine) == len(theirs) and all((a.name, a.size) == (b.name, b.size) for a, b in pairs)
    return pairs if are_alike and len({one.name for one in mine}) == len(mine) else []


def _by_name(symbols: Iterable[Symbol]) -> list[Symbol]:
    return sorted(symbols, key=lambda one: one.name)
