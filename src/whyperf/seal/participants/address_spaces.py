"""Which module an address belongs to: address spaces over time.

An address space here is a set of mappings that do not overlap. A process keeps one for as long as nothing new is mapped
over something old, and processes forked from one another share it, so that most recordings have one per exec.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.collect.tracer.traced import TracedMappings
from whyperf.recording.raw_log.ringrecords import MODULE, RingRecordKind
from whyperf.seal.evidence import Int32, Int64, Note, RawEvidence, UInt64
from whyperf.seal.participants.processes import Participants, text


@dataclass(frozen=True)
class Module:
    path: str
    build_id: str
    inode: int  # told apart by it only where there is no build-id


@dataclass(frozen=True, order=True)
class Mapping:
    start: int
    end: int
    bias: int
    module: int


@dataclass(frozen=True)
class Mapped:
    """A row of the table `mappings`."""

    process: int
    time: int
    mapping: Mapping


@dataclass(frozen=True)
class Spaces:
    modules: tuple[Module, ...]
    spaces: tuple[tuple[Mapping, ...], ...]
    rows: tuple[Mapped, ...]
    epochs: tuple[tuple[tuple[int, int], ...], ...]  # per process: (from when, space)
    first_process: tuple[int, ...]  # of each space

    def of_samples(self, process: Int32, time: Int64) -> Int32:
        space = np.array([epochs[0][1] for epochs in self.epochs], np.int32)[process]
        for row, epochs in enumerate(self.epochs):
            if len(epochs) > 1:
                mine = np.flatnonzero(process == row)
                begins = np.array([begin for begin, _ in epochs])
                numbers = np.array([number for _, number in epochs], np.int32)
                space[mine] = numbers[np.maximum(np.searchsorted(begins, time[mine], side="right") - 1, 0)]
        return space

    def locate(self, space: Int32, pc: UInt64) -> tuple[Int32, UInt64]:
        """Module (-1: none) and ELF virtual address of each address in its space."""
        flat = [mapping for mappings in self.spaces for mapping in mappings]
        offsets = np.cumsum([0] + [len(mappings) for mappings in self.spaces])
        starts = np.array([m.start for m in flat], np.uint64)
        row = _last_at_or_below(starts, offsets[space], offsets[space.astype(np.int64) + 1], pc)
        found = row >= 0
        ends = np.array([m.end for m in flat], np.uint64)
        found[found] = pc[found] < ends[row[found]]
        module = np.full(len(pc), -1, np.int32)
        module[found] = np.array([m.module for m in flat], np.int32)[row[found]]
        address = np.zeros(len(pc), np.uint64)
        # Modules can be mapped below their own addresses: the bias wraps around, and so does this.
        address[found] = pc[found] - np.array([m.bias for m in flat], np.uint64)[row[found]]
        return module, address


def _last_at_or_below(starts: UInt64, low: Int64, high: Int64, value: UInt64) -> Int64:
    """For each value the last row in [low, high) whose start is not above it, -1 if there is none."""
    first, low, high = low, low.copy(), high.copy()
    while np.any(active := low < high):
        middle = (low + high) // 2
        below = active.copy()
        below[active] = starts[middle[active]] <= value[active]
        low = np.where(below, middle + 1, low)
        high = np.where(active & ~below, middle, high)
    return np.where(low > first, low - 1, -1)


@dataclass(frozen=True)
class _Change:
    time: int
    mapping: Mapping | None  # None: gone
    gone_start: int = 0


def spaces_of(evidence: RawEvidence, participants: Participants) -> Spaces:
    modules: dict[Module, int] = {}
    changes: dict[int, list[_Change]] = defaultdict(list)
    for note, owner in zip(evidence.notes, participants.note_process, strict=True):
        if note.kind == RingRecordKind.MODULE:
            changes[owner].append(_mapped(note, modules))
        elif note.kind == RingRecordKind.MODULE_GONE:
            changes[owner].append(_Change(note.time, None, int.from_bytes(note.payload[:8], "little")))

    if evidence.traced is not None:
        _add_traced(evidence.traced.mappings, participants, modules, changes)

    numbers: dict[tuple[Mapping, ...], int] = {}
    first_process: list[int] = []
    rows: list[Mapped] = []
    epochs: list[tuple[tuple[int, int], ...]] = []
    histories: list[_History] = []
    forked_from = _forked_from(participants)
    for row, process in enumerate(participants.processes):
        parent = forked_from[row]
        inherited = histories[parent].at(process.start) if parent is not None else ()
        history = _History(inherited, changes.get(row, []))
        histories.append(history)
        rows += [Mapped(row, process.start, mapping) for mapping in inherited]
        rows += [Mapped(row, change.time, change.mapping) for change in changes.get(row, []) if change.mapping]
        mine = []
        for begin, mappings in history.epochs(process.start):
            number = numbers.setdefault(mappings, len(numbers))
            if number == len(first_process):
                first_process.append(row)
            mine.append((begin, number))
        epochs.append(tuple(mine))
    return Spaces(tuple(modules), tuple(numbers), tuple(rows), tuple(epochs), tuple(first_process))


def _add_traced(
    traced: tuple[TracedMappings, ...],
    participants: Participants,
    modules: dict[Module, int],
    changes: dict[int, list[_Change]],
) -> None:
    """What was read from outside, where the program did not tell it by itself."""
    own = {row: [change.mapping for change in mine if change.mapping] for row, mine in changes.items()}
    current: dict[int, tuple[Mapping, ...]] = defaultdict(tuple)
    for read in sorted(traced, key=lambda read: read.time):
        row = participants.process_at(read.pid, read.time)
        if row is None:
            continue
        # It is read some time after it was mapped: the first time it stands for the whole life before.
        time = read.time if row in changes else participants.processes[row].start
        for found in read.rows:
            if any(found.start < known.end and known.start < found.end for known in own.get(row, ())):
                continue
            identity = Module(found.path, found.build_id, 0 if found.build_id else found.inode)
            module = modules.setdefault(identity, len(modules))
            mapping = Mapping(found.start, found.end, found.bias, module)
            if mapping not in current[row]:
                current[row] = (*_without_overlaps(current[row], mapping), mapping)
                changes[row].append(_Change(time, mapping))
    for mine in changes.values():
        mine.sort(key=lambda change: change.time)


def _forked_from(participants: Participants) -> list[int | None]:
    """Per process the row of its parent, None where it starts afresh. Processes are in the order of their start."""
    last: dict[int, int] = {}
    parents: list[int | None] = []
    for row, process in enumerate(participants.processes):
        parents.append(last.get(process.parent_pid) if process.origin == "fork" else None)
        last[process.pid] = row
    return parents


def _mapped(note: Note, modules: dict[Module, int]) -> _Change:
    start, end, _, bias, size, identity, inode = MODULE.unpack_from(note.payload)
    path = text(note.payload[MODULE.size :].split(b"\0", 1)[0])
    build_id = identity[:size].hex()
    module = modules.setdefault(Module(path, build_id, 0 if build_id else inode), len(modules))
    return _Change(note.time, Mapping(start, end, bias, module))


def _without_overlaps(mappings: tuple[Mapping, ...], new: Mapping) -> tuple[Mapping, ...]:
    return tuple(m for m in mappings if m.end <= new.start or new.end <= m.start)


class _History:
    """One process's mappings: what it began with, and what changed."""

    def __init__(self, inherited: tuple[Mapping, ...], changes: list[_Change]) -> None:
        self._inherited = inherited
        self._changes = changes
        self._times = [change.time for change in changes]
        self._snapshots: dict[int, tuple[Mapping, ...]] = {0: inherited}

    def at(self, time: int) -> tuple[Mapping, ...]:
        """What was mapped then."""
        count = bisect_right(self._times, time)
        if count not in self._snapshots:
            mapped = self._inherited
            for change in self._changes[:count]:
                if change.mapping is None:
                    mapped = tuple(m for m in mapped if m.start != change.gone_start)
                else:
                    mapped = (*_without_overlaps(mapped, change.mapping), change.mapping)
            self._snapshots[count] = mapped
        return self._snapshots[count]

    def epochs(self, begin: int) -> list[tuple[int, tuple[Mapping, ...]]]:
        """A new one only where something is mapped over something old; until then an address means one thing, and what
        was first seen late or unmapped early is still found."""
        done: list[tuple[int, tuple[Mapping, ...]]] = []
        mapped = self._inherited
        for change in self._changes:
            new = change.mapping
            if new is None or new in mapped:
                continue
            kept = _without_overlaps(mapped, new)
            if len(kept) < len(mapped):
                done.append((begin, tuple(sorted(mapped))))
                begin = change.time
            mapped = (*kept, new)
        done.append((begin, tuple(sorted(mapped))))
        return done
