"""Who ran: processes as fork and exec made them, and their threads.

A pid is not a process: it is reused, and an exec starts afresh under the same number. Slot sequences rise over the
whole session, so the process of a slot is the last one of its pid that was introduced before the slot was taken.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.recording.raw_log.ringrecords import PROCESS, THREAD_END, ProcessOrigin, RingRecordKind
from whyperf.seal.checked_numbers import whole, words
from whyperf.seal.evidence import NEVER, Int32, Note, Owner, RawEvidence

_ORIGINS = {ProcessOrigin.EXEC: "exec", ProcessOrigin.FORK: "fork"}


@dataclass(frozen=True)
class Process:
    pid: int
    parent_pid: int
    start: int
    origin: str
    executable: str
    command: tuple[str, ...]
    sequence: int  # of the slot that introduced it
    cgroup: str = ""
    standing: str = ""  # "met", "beside": it was not to be recorded, only what was had to do with it


@dataclass(frozen=True)
class Thread:
    process: int
    tid: int
    name: str
    start: int
    cpu: int


@dataclass(frozen=True)
class Participants:
    """All processes and threads, and which of them each sample and note belongs to."""

    processes: tuple[Process, ...]  # in the order in which they began
    threads: tuple[Thread, ...]
    sample_process: Int32
    sample_thread: Int32
    note_process: tuple[int, ...]

    def process_at(self, pid: int, time: int) -> int | None:
        """Row of whoever had the pid then; of whoever had it first where nobody had it yet."""
        rows = self._rows_of_pid.get(pid)
        if rows is None:
            return None
        return rows[max(0, bisect_right(rows, time, key=lambda row: self.processes[row].start) - 1)]

    @cached_property
    def _rows_of_pid(self) -> dict[int, list[int]]:
        rows: dict[int, list[int]] = defaultdict(list)
        for row, process in enumerate(self.processes):
            rows[process.pid].append(row)
        return dict(rows)


def text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def participants_of(evidence: RawEvidence) -> Participants:
    roll = _Roll(_introduced(evidence), evidence.owners)
    processes, owner_process = roll.processes, roll.owner_process
    owner = evidence.samples.owner
    sample_process = owner_process[owner]
    for row in roll.slotless:
        mine = np.flatnonzero(owner == row)
        sample_process[mine] = roll.at_times(evidence.owners[row].pid, evidence.samples.time[mine])
    note_process = tuple(
        int(owner_process[note.owner])
        if evidence.owners[note.owner].sequence
        else int(roll.at_times(evidence.owners[note.owner].pid, np.array([note.time]))[0])
        for note in evidence.notes
    )
    threads, sample_thread = _threads(evidence, roll, sample_process)
    return Participants(processes, threads, sample_process, sample_thread, note_process)


def _introduced(evidence: RawEvidence) -> Iterable[Process]:
    for note in evidence.notes:
        if note.kind == RingRecordKind.PROCESS:
            yield _parse_process(note, evidence.owners[note.owner])


def _parse_process(note: Note, owner: Owner) -> Process:
    _, parent_pid, origin, argc = PROCESS.unpack_from(note.payload)
    words = note.payload[PROCESS.size :].split(b"\0")
    return Process(
        pid=owner.pid,
        parent_pid=parent_pid,
        start=note.time,
        origin=_ORIGINS.get(origin, "attached"),
        executable=text(words[0]),
        command=tuple(text(word) for word in words[1 : 1 + argc]),
        sequence=owner.sequence,
    )


class _Roll:
    """Which process a pid meant, by slot sequence and by time."""

    def __init__(self, introduced: Iterable[Process], owners: tuple[Owner, ...]) -> None:
        known = list(introduced)
        pids = {process.pid for process in known}
        # Its introduction was lost with a dropped or damaged part of the log, or it is only watched from outside.
        strangers = {owner.pid: owner for owner in sorted(owners, key=lambda o: -o.start) if owner.pid not in pids}
        known += [Process(o.pid, 0, o.start, "attached", "", (), 0) for o in strangers.values()]
        self.processes = tuple(sorted(known, key=lambda process: process.start))
        self._by_sequence: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._by_time: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row, process in enumerate(self.processes):
            self._by_sequence[process.pid].append((process.sequence, row))
            self._by_time[process.pid].append((process.start, row))
        for rows in self._by_sequence.values():
            rows.sort()
        self.slotless = [row for row, owner in enumerate(owners) if owner.sequence == 0]
        self.owner_process = np.array([self._of_slot(owner) for owner in owners], np.int32)

    def _of_slot(self, owner: Owner) -> int:
        rows = self._by_sequence[owner.pid]
        return rows[max(0, bisect_right(rows, (owner.sequence, len(self.processes))) - 1)][1]

    def at_times(self, pid: int, times: np.ndarray) -> np.ndarray:
        starts = np.array([start for start, _ in self._by_time[pid]])
        rows = np.array([row for _, row in self._by_time[pid]], np.int32)
        return rows[np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)]


def _threads(evidence: RawEvidence, roll: _Roll, sample_process: Int32) -> tuple[tuple[Thread, ...], Int32]:
    ends = {
        note.owner: THREAD_END.unpack_from(note.payload)
        for note in evidence.notes
        if note.kind == RingRecordKind.THREAD_END
    }
    names = {
        (whole(said.get("pid")), whole(said.get("tid"))): words(said.get("name", ""))
        for said in evidence.said
        if said.get("type") == "thread-name"
    }
    threads: list[Thread] = []
    by_process_and_tid: dict[tuple[int, int], int] = {}
    owner_thread = np.full(len(evidence.owners), -1, np.int32)

    def add(owner: Owner, process: int, cpu: int, name: str) -> int:
        key = (process, owner.tid)
        threads.append(Thread(process, owner.tid, name or names.get((owner.pid, owner.tid), ""), owner.start, cpu))
        by_process_and_tid[key] = len(threads) - 1
        return len(threads) - 1

    for row, owner in enumerate(evidence.owners):
        if owner.sequence:
            cpu, name = ends.get(row, (-1, b""))
            cpu = cpu if cpu < NEVER else -1
            owner_thread[row] = add(owner, int(roll.owner_process[row]), cpu, text(name.rstrip(b"\0")))
    sample_thread = owner_thread[evidence.samples.owner]
    for row in roll.slotless:
        owner = evidence.owners[row]
        mine = np.flatnonzero(evidence.samples.owner == row)
        for process in np.unique(sample_process[mine]):
            known = by_process_and_tid.get((int(process), owner.tid))
            thread = add(owner, int(process), -1, "") if known is None else known
            sample_thread[mine[sample_process[mine] == process]] = thread
    return tuple(threads), sample_thread
