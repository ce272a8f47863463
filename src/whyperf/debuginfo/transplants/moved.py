"""A function that is to be copied: its code, what it refers to, and where that is found in the other build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from whyperf.debuginfo.transplants.counterparts import (
    Counterpart,
    CounterpartPlace,
    Counterparts,
    FoundCounterpart,
    is_clone,
)
from whyperf.debuginfo.transplants.frames import Frames, StackFrame
from whyperf.debuginfo.transplants.layouts import called_alike, different_structure
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.references import FunctionCode, Reference, References, Use
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol


@dataclass(frozen=True)
class Redirected:
    reference: Reference
    to: Counterpart
    distances: tuple[tuple[int, int], ...] = ()
    """Instructions that count from there, and how far what they access lies."""
    saved: frozenset[int] = frozenset()
    """Registers that the other build's function changes, but not the one that was called."""


@dataclass(frozen=True)
class Moved:
    function: Symbol
    code: FunctionCode
    redirected: Sequence[Redirected]
    frames: Sequence[StackFrame]
    pointers: Mapping[int, Counterpart]
    """What unwind information finds by pointers, by where the giver has them."""
    saved: frozenset[int] = frozenset()
    """Registers that it changes, but not the function that it replaces."""
    replaces: Symbol | None = None
    """None: the receiver has no such function, and only what is copied with it calls it."""

    @property
    def carried(self) -> list[Symbol]:
        return [one.to.carried for one in self.redirected if one.to.carried is not None]


class Mover:
    """Looks at functions of `giver` that are to run in `receiver`; RefusedError where one cannot."""

    def __init__(self, giver: TransplantModule, receiver: TransplantModule) -> None:
        self._giver, self._receiver, self._coding = giver, receiver, giver.coding

    def moved(self, function: Symbol, replaces: Symbol | None) -> Moved:
        giver = self._giver
        code = giver.code_of(function)
        found = self._coding.references(code, self._giver.registers.by)
        if found.uses_thread_pointer and _thread_local(giver) != _thread_local(self._receiver):
            raise RefusedError("it may use thread-local data, which lies elsewhere in the other build")
        pairs = list(self._counterparts(function, code, found))
        self._check_structures(function, self._read_layouts(function, replaces, pairs))
        saved: frozenset[int] = frozenset()
        if replaces is not None:
            self._check_called_alike(function, replaces)
            saved = self._saved(self._giver, function.address, self._receiver, replaces.address)
        redirected = [self._redirected(*pair) for pair in pairs]
        frames = [frame for part in code.parts if (frame := self._frames.of(part)) is not None]
        return Moved(function, code, redirected, frames, self._pointers(function, code, frames), saved, replaces)

    @cached_property
    def _frames(self) -> Frames:
        return Frames(self._giver)

    def _pointers(self, function: Symbol, code: FunctionCode, frames: Sequence[StackFrame]) -> dict[int, Counterpart]:
        giver = self._giver
        known = Counterparts(giver, self._receiver, function, code.parts, frozenset())
        found: dict[int, Counterpart] = {}
        for where in sorted({where for frame in frames for where in frame.pointers}):
            slot = giver.image.slots.get(where)
            if slot is None:
                raise RefusedError("what handles exceptions in it is not known")
            found[where] = known.pointer(slot)
        return found

    def _counterparts(
        self, function: Symbol, code: FunctionCode, found: References
    ) -> list[tuple[Reference, FoundCounterpart]]:
        giver, receiver = self._giver, self._receiver
        ends = (end.target for one in found.all for end in one.ends)
        data = {symbol.name for target in ends for symbol in giver.symbols.holding(target)}
        known = Counterparts(giver, receiver, function, code.parts, data)
        pairs = []
        for one in found.all:
            there = known.of(one)
            if one.is_short and there.place.where is not CounterpartPlace.COPY:
                raise RefusedError(f"a short jump leads out of it at {one.sites[0]:#x}")
            pairs.append((one, there))
        return pairs

    def _redirected(self, reference: Reference, found: FoundCounterpart) -> Redirected:
        to = found.place
        giver, receiver = self._giver, self._receiver
        is_call = reference.use in (Use.CALL, Use.JUMP) and to.where is CounterpartPlace.RECEIVER
        if not is_call or giver.is_linkage(reference.target) or receiver.is_linkage(to.address):
            return Redirected(reference, to, found.distances)
        (mine, *_), (theirs, *_) = giver.symbols.at(reference.target), receiver.symbols.at(to.address)
        if is_clone(mine.name) and not self._are_called_alike(mine, theirs):
            return Redirected(reference, Counterpart(CounterpartPlace.COPY, carried=mine))
        self._check_called_alike(mine, theirs)
        return Redirected(reference, to, saved=self._saved(receiver, to.address, giver, reference.target))

    def _saved(self, there: TransplantModule, called: int, module: TransplantModule, expected: int) -> frozenset[int]:
        """Registers that must be kept for callers that expect a function of `module` and get one from `there`."""
        more = there.registers.by(called) - module.registers.by(expected)
        if not more:
            return more
        known = there.layouts(called)
        if known is None or not known.fits_registers(self._coding.arguments):
            raise RefusedError("it changes registers that callers in the other build keep values in")
        if self._coding.returned in more and not known.returns_nothing:
            return more - {self._coding.returned}
        return more

    def _read_layouts(
        self, function: Symbol, replaces: Symbol | None, pairs: Sequence[tuple[Reference, FoundCounterpart]]
    ) -> set[int]:
        """All at once. Those of the receiver that it has to do with: which it replaces, and which it calls."""
        calls = ((one, there.place) for one, there in pairs if one.use in (Use.CALL, Use.JUMP))
        called = [(one, place) for one, place in calls if place.where is CounterpartPlace.RECEIVER]
        self._giver.read_layouts({function.address, *(one.target for one, _ in called)})
        own = {replaces.address} if replaces is not None else set()
        theirs = {*own, *(to.address for _, to in called)}
        self._receiver.read_layouts(theirs)
        return theirs

    def _check_structures(self, function: Symbol, others: Set[int]) -> None:
        mine = self._giver.layouts(function.address)
        known = [layouts for other in others if (layouts := self._receiver.layouts(other)) is not None]
        if mine is not None and (name := different_structure(mine, known)):
            raise RefusedError(f"the structure {name} has another layout in the other build")

    def _are_called_alike(self, mine: Symbol, theirs: Symbol) -> bool:
        one, other = self._giver.layouts(mine.address), self._receiver.layouts(theirs.address)
        clone = is_clone(mine.name)
        if one is None or other is None:
            return not clone
        return called_alike(one, other, is_clone=clone)

    def _check_called_alike(self, mine: Symbol, theirs: Symbol) -> None:
        if not self._are_called_alike(mine, theirs):
            raise RefusedError(f"{mine.name} has other parameters in the other build")


def _thread_local(module: TransplantModule) -> set[tuple[str, int]]:
    return {(one.name, one.address) for one in module.symbols.thread_local}
