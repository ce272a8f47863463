"""Where no observed run tells who wrote what is read: a good and a bad run under Valgrind, or one alone, say
which instructions did.

They tell who, not what: the values of those instructions are then observed as everywhere else. Of several writers, the
one is followed by which most of the difference between what was read comes about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.collect.dependences.last_writers import LastWriters
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import FLAGS, Definition, DefinitionKind, Input
from whyperf.diagnose.origin import ChainEnd, HopKind
from whyperf.errors import WhyperfError
from whyperf.origin.copies import copied_by_call, copies, unlocated
from whyperf.origin.evidence import MOST_POINTS
from whyperf.origin.member_writes import is_rarer
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import Ask, AskControl, CodeHere, Next, Read, Stop, WriterUnknown
from whyperf.origin.string_stores import string_store
from whyperf.origin.supplied import most_of, settle
from whyperf.origin.trail import Trail, TrailStep
from whyperf.origin.values import DIFFERS, NOTHING, POINTER, ComparedValues, Sample
from whyperf.origin.written_by import NOT_UNDERSTOOD, stored

_ALL_BYTES = 1 << 30
"""Of what a call reads."""
_NOT_AS_OFTEN = Stop(ChainEnd.NOT_FOLLOWED, "Why it is not written as often as in good runs was not found.")
_MOST_WRITERS = MOST_POINTS // 2
"""That one pair of runs looks at, with the entries of their functions."""


@dataclass(frozen=True, eq=False)
class _Writer:
    here: CodeHere
    address: int
    shares: tuple[float, float]
    """Of the loads in good and in bad runs, those that read what it wrote."""
    store: Definition | None
    """None: it calls a library that writes, or is not understood."""
    values: ComparedValues | None
    """That it writes; None: they cannot be seen."""

    def explains(self, read: Read) -> float:
        """How much of the difference between what good and bad runs read comes about by it: it writes other values, or
        the same ones are read more often or more rarely."""
        if self.values is None:
            return 0.5 * abs(self.shares[0] - self.shares[1])
        sides = (read.compared.good, read.compared.bad)
        seen = set().union(*(_weighed(one, 1.0, read.size) for one in sides))
        good, bad = (
            _weighed(one, share, read.size)
            for one, share in zip((self.values.good, self.values.bad), self.shares, strict=True)
        )
        return 0.5 * sum(abs(good.get(key, 0.0) - bad.get(key, 0.0)) for key in seen)


def shown_by_valgrind(trail: Trail, read: Read, unknown: WriterUnknown) -> Next:
    """`unknown`: what is said where Valgrind does not know either."""
    key = read.reader.key
    if ("valgrind", key) in trail.asked:
        return unknown
    trail.asked.add(("valgrind", key))
    try:
        counted = trail.evidence.last_writers(read.reader, *_bytes_read(read))
    except WhyperfError as error:
        return Stop(ChainEnd.NOT_FOLLOWED, f"{unknown.sentence} {error.sentence}")
    writers = _writers(trail, read, counted)
    if not writers:
        return Stop(ChainEnd.NOT_FOLLOWED, f"{unknown.sentence} {_nobody(counted[BuildSide.BAD])}")
    before = len(trail.steps)
    writer = _writes_most(trail, read, writers, counted[BuildSide.BAD]) if trail.is_alone else _chosen(writers, read)
    if writer is None:
        return Stop(ChainEnd.NOT_FOLLOWED, f"{unknown.sentence} Under Valgrind nobody was seen to write most of it.")
    found = _follow(trail, read, writer)
    trail.steps[before : before + 1] = [replace(one, deep=True) for one in trail.steps[before : before + 1]]
    return found


def _nobody(bad: LastWriters) -> str:
    if not bad.loads and not bad.unwritten:
        return "Under Valgrind the instruction that reads it did not run."
    return "Under Valgrind none of the program's own instructions was seen to write it."


def _bytes_read(read: Read) -> tuple[int, int]:
    """Of the bytes that an instruction loads: from which on, and how many. Pairs of registers are loaded together."""
    one = read.definition
    if one is None or one.memory is None:
        return 0, _ALL_BYTES
    loads = [
        each.memory.displacement
        for each in read.here.slicer.made_by(one.address)
        if each.kind is DefinitionKind.LOAD and each.memory is not None
    ]
    return one.memory.displacement - min(loads, default=one.memory.displacement), one.memory.size


def _writers(trail: Trail, read: Read, counted: tuple[LastWriters, LastWriters]) -> list[_Writer]:
    """The most frequent ones, with what they write."""
    loads = [_located(trail, read, side, counted[side]) for side in BuildSide]
    totals = [max(1, one.total()) for one in loads]
    shares_of = {key: (loads[0][key] / totals[0], loads[1][key] / totals[1]) for key in loads[0] | loads[1]}
    found = []
    for key, shares in sorted(shares_of.items(), key=lambda one: -max(one[1]))[:_MOST_WRITERS]:
        here = trail.here(trail.code.at(*key))
        if here is not None and key[1] in here.slicer.function.row:
            found.append((here, key[1], shares))
    stores = [(here, one) for here, address, _ in found for one in here.slicer.stores(address)]
    trail.look(stores, "looking at who writes it")
    return [_seen(trail, read, here, address, shares) for here, address, shares in found]


def _located(trail: Trail, read: Read, side: BuildSide, counted: LastWriters) -> Counter[tuple[Path, int]]:
    """In the bad build. What a call writes itself before it reads it is nobody's value."""
    found: Counter[tuple[Path, int]] = Counter()
    for (path, address), loads in counted.loads.items():
        at = trail.code.locate(side, ((str(path), 0),), address)
        if at is not None and trail.code.is_program(at.module):
            found[at.key] += loads
    if _calls(read.here, read.reader.address):
        del found[read.reader.key]
    return found


def _calls(here: CodeHere, address: int) -> bool:
    """Or jumps to a function in place of a call."""
    one = here.slicer.function.at(address)
    return one is not None and (one.step is FlowStep.CALL or here.slicer.is_tail_call(one))


def _seen(trail: Trail, read: Read, here: CodeHere, address: int, shares: tuple[float, float]) -> _Writer:
    """Of what an instruction stores, the value that is read."""
    is_call = _calls(here, address)
    stores = [(one, _values(trail, here, one)) for one in here.slicer.stores(address) if not is_call]
    if not stores:
        return _Writer(here, address, shares, None, None)
    store, values = max(stores, key=lambda one: _in_common(one[1], read))
    return _Writer(here, address, shares, store, values)


def _values(trail: Trail, here: CodeHere, store: Definition) -> ComparedValues | None:
    is_string = string_store(here.slicer.function, store.address) is not None
    if is_string or any(one.location >= VECTOR for one in store.inputs):
        return None
    general = [one for one in store.inputs if one.location != FLAGS]
    if general and not store.reads_memory:
        return trail.input(here, store, general[0])
    return trail.result(here, store)


def _in_common(values: ComparedValues | None, read: Read) -> float:
    """How much of what bad runs read could be of these values."""
    if values is None:
        return 0.0
    was_read, written = (_weighed(one, 1.0, read.size) for one in (read.compared.bad, values.bad))
    return sum(min(share, written.get(key, 0.0)) for key, share in was_read.items())


def _weighed(sample: Sample, share: float, size: int) -> dict[int, float]:
    """Of so large a share of the loads, that of each value, as a read of so many bytes sees it."""
    found: dict[int, float] = {}
    total = sample.histogram.total()
    for key, count in sample.histogram.items():
        seen = key if key == POINTER or size >= 8 else key & ((1 << 8 * size) - 1)
        found[seen] = found.get(seen, 0.0) + share * count / total
    return found


def _chosen(writers: Sequence[_Writer], read: Read) -> _Writer:
    """By which most of the difference comes about; of writers that explain nothing, one whose values cannot be seen
    might, and the most frequent one is the likeliest."""
    best = max(writers, key=lambda one: one.explains(read))
    if best.explains(read) > DIFFERS:
        return best
    return max(writers, key=lambda one: (one.values is None, one.shares[BuildSide.BAD]))


def _writes_most(trail: Trail, read: Read, writers: Sequence[_Writer], counted: LastWriters) -> _Writer | None:
    """Of one run alone; None: nobody writes more than any other. A call copies other things as well: only those count
    who could have written such values, and their share says nothing."""
    located = _located(trail, read, BuildSide.BAD, counted)
    could = [one for one in writers if one.values is None or _in_common(one.values, read)]
    mine = {(one.here.module.path, one.address): one for one in could}
    counts = Counter({key: loads for key, loads in located.items() if key in mine})
    unknown = counted.unwritten + sum(counted.loads.values()) - counts.total()
    most = most_of(counts) if read.definition is None else settle(trail, counts, unknown)
    return None if most is None else mine[most]


def _follow(trail: Trail, read: Read, writer: _Writer) -> Next:
    here, store = writer.here, writer.store
    if store is None:
        return _through_call(trail, read, here, writer.address)
    if trail.is_alone:
        return stored(trail, read, here, store, (None, None))
    if writer.values is None or writer.values.differs:
        return stored(trail, replace(read, compared=writer.values or read.compared), here, store, (None, None))
    trail.count([(here, store)], "counting writes")
    was, now = trail.counts(here, store)
    if is_rarer(now, was) or is_rarer(was, now):
        compared, name = _values(trail, here, store) or NOTHING, trail.name_after(here, store) or read.name
        trail.add(TrailStep(HopKind.STORED, here.at(store.address), compared, name, counts=True))
        return AskControl(here, store.address, _NOT_AS_OFTEN)
    return _another_object(trail, read)


def _through_call(trail: Trail, read: Read, here: CodeHere, address: int) -> Next:
    """A library's function wrote it: what did that read?"""
    instruction = here.slicer.function.at(address)
    if instruction is None or not _calls(here, address):
        return NOT_UNDERSTOOD
    name = here.module.callee(instruction).name
    if not copies(name):
        what = f"{name}()" if name else "A function of a library"
        return Stop(ChainEnd.NOT_FOLLOWED, f"{what}, called by {here.module.function_name(address)}(), writes it.")
    return copied_by_call(trail, read, here, address, name) or unlocated(read, here, Point(here.module.path, address))


def _another_object(trail: Trail, read: Read) -> Next:
    """The same instructions write the same values as often: it is not who writes that differs, but what is read."""
    one = read.definition
    registers = () if one is None else read.here.slicer.address_registers(one)
    if one is None or not registers:
        return Stop(ChainEnd.ADDRESS, "The same is written as often; only which of it is read differs.")
    ranked = [(trail.input(read.here, one, Input(each, 8)), each) for each in registers]
    compared, register = max(ranked, key=lambda each: (each[0].rank, each[0].apart_as_numbers))
    return Ask(read.here.at(one.address), register, compared)
