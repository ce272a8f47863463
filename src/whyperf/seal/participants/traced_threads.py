"""Who ran, from kernel events: everybody seen in them joins those that the sampler knows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from whyperf.collect import _session
from whyperf.collect.tracer.traced import Records, Traced
from whyperf.recording.schemas.events import EventKind
from whyperf.seal.evidence import Int32, Int64
from whyperf.seal.participants.places import numbered
from whyperf.seal.participants.process_lifetimes import Life, Lives, names_of
from whyperf.seal.participants.processes import Participants, Process, Thread

_TID = (1 << 32) - 1


@dataclass(frozen=True)
class TracedParticipants:
    participants: Participants  # with everybody that was traced
    process: Int32  # of each record; -1: the idle task
    thread: Int32
    other: Int32
    unsampled: npt.NDArray[np.bool_]  # of each process: it was to be recorded, but does not sample itself


@dataclass(frozen=True)
class _Change:
    """From then on a (process, thread) pair of numbers means another thread."""

    time: int
    pair: int
    thread: int


def with_traced(participants: Participants, traced: Traced) -> TracedParticipants:
    """`traced.records` are in time order."""
    records = traced.records
    count = len(records)
    keys = np.concatenate(
        (records["pid"].astype(np.uint64) << np.uint64(32) | records["tid"].astype(np.uint64), records["other"])
    )
    pair, firsts = numbered(keys)
    pairs: list[int] = keys[firsts].tolist()
    seen_at: list[int] = records["time"][firsts % max(1, count)].tolist()

    lives = Lives(traced, participants.processes, _sightings(pairs, seen_at))
    roll = _Threads(participants, lives, traced)
    changes = sorted(roll.changes(pairs, seen_at), key=lambda change: change.time)
    before = np.full(len(pairs), -1, np.int32)
    for change in reversed(changes):
        before[change.pair] = change.thread
    time = records["time"].astype(np.int64)

    swaps = Changes(
        np.array([change.time for change in changes], np.int64),
        np.array([change.pair for change in changes], np.int64),
        np.array([change.thread for change in changes], np.int64),
    )
    thread, other = (values_at(time, numbers, swaps, before) for numbers in (pair[:count], pair[count:]))
    joined = roll.joined()
    owner = np.array([*(row.process for row in joined.threads), -1], np.int32)  # the last one is for -1
    unsampled = np.array([life.sampled < 0 and not life.standing for life in lives.all], bool)
    return TracedParticipants(joined, owner[thread], thread, other, unsampled)


@dataclass(frozen=True)
class Changes:
    """From `time` on `key` has `value`; in time order."""

    time: Int64
    key: Int64
    value: Int64


def values_at(time: Int64, key: Int32, changes: Changes, before: Int32) -> Int32:
    """The values of keys at moments; `before`: by key, until its first change. Negative keys have -1."""
    columns = (
        time,
        key,
        changes.time,
        changes.key.astype(np.int32),
        changes.value.astype(np.int32),
        before,
    )
    return np.frombuffer(_session.values_at(*(np.ascontiguousarray(column).data for column in columns)), np.int32)


def _sightings(pairs: list[int], seen_at: list[int]) -> dict[int, int]:
    first: dict[int, int] = {}
    for key, time in zip(pairs, seen_at, strict=True):
        pid = key >> 32
        if key and time < first.get(pid, 1 << 63):
            first[pid] = time
    return first


class _Threads:
    """Threads of all lives: the sampler's rows first, as its samples name them."""

    def __init__(self, participants: Participants, lives: Lives, traced: Traced) -> None:
        self._participants = participants
        self._lives = lives
        self._row = {id(life): row for row, life in enumerate(lives.all)}
        of_sampled = np.full(len(participants.processes) + 1, -1, np.int32)
        for row, life in enumerate(lives.all):
            if life.sampled >= 0:
                of_sampled[life.sampled] = row
        self._of_sampled = of_sampled
        self._threads = [replace(thread, process=int(of_sampled[thread.process])) for thread in participants.threads]
        self._unmatched: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, thread in enumerate(self._threads):
            self._unmatched[thread.process, thread.tid].append(number)
        self._said = {(thread.pid, thread.tid): thread.name for thread in traced.threads}
        self._told = _Told(traced.records)

    def changes(self, pairs: list[int], seen_at: list[int]) -> list[_Change]:
        found: list[_Change] = []
        for pair, (key, seen) in enumerate(zip(pairs, seen_at, strict=True)):
            pid, tid = key >> 32, key & _TID
            if not key:
                continue  # the idle task, or nobody
            if pid == tid:
                begins = [(life.time, life) for life in self._lives.of(pid)]
            else:
                times = self._told.began.get(key, [])
                times = times if times and times[0] <= seen else [seen, *times]
                begins = [(time, life) for time in times if (life := self._lives.at(pid, time)) is not None]
            for i, (time, life) in enumerate(begins):
                until = begins[i + 1][0] if i + 1 < len(begins) else 1 << 63
                found.append(_Change(time, pair, self._thread(key, life, time, until)))
        return found

    def joined(self) -> Participants:
        processes = tuple(_process(life) for life in self._lives.all)
        return Participants(
            processes=processes,
            threads=tuple(self._threads),
            sample_process=self._of_sampled[self._participants.sample_process],
            sample_thread=self._participants.sample_thread,
            note_process=tuple(int(self._of_sampled[row]) for row in self._participants.note_process),
        )

    def _thread(self, key: int, life: Life, time: int, until: int) -> int:
        """The row of the thread that began at `time`."""
        pid, tid = key >> 32, key & _TID
        process = self._row[id(life)]
        name = self._told.name(key, time, until) or self._said.get((pid, tid)) or self._told.inherited.get(key, "")
        name = name or (life.name if pid == tid else "")
        sampled = self._unmatched.get((process, tid), [])
        number = next((row for row in sampled if self._threads[row].start < until), None)
        if number is None:
            self._threads.append(Thread(process, tid, name, time, -1))
            return len(self._threads) - 1
        sampled.remove(number)
        known = self._threads[number]
        self._threads[number] = replace(known, name=known.name or name, start=min(known.start, time))
        return number


class _Told:
    """What events say of threads, by pair."""

    def __init__(self, records: Records) -> None:
        self.began: dict[int, list[int]] = defaultdict(list)
        self.inherited: dict[int, str] = {}  # names that they began with
        self._named: dict[int, list[tuple[int, str]]] = defaultdict(list)
        telling = records[np.isin(records["kind"], (EventKind.FORK, EventKind.EXEC, EventKind.RENAME))]
        own = telling["pid"].astype(np.uint64) << np.uint64(32) | telling["tid"].astype(np.uint64)
        columns = (telling["time"], telling["kind"], own, telling["other"])
        rows = zip(*(column.tolist() for column in columns), names_of(telling), strict=True)
        for time, kind, key, child, name in rows:
            if kind == EventKind.FORK:
                self.began[child].append(time)
                self.inherited[child] = name
            else:
                self._named[key].append((time, name))

    def name(self, key: int, time: int, until: int) -> str:
        """What a thread that began at `time` called itself last."""
        return next((name for at, name in reversed(self._named.get(key, [])) if time <= at < until), "")


def _process(life: Life) -> Process:
    # As ps shows those without arguments: threads of the kernel, and what was gone before it could be asked.
    named = life.executable or (f"[{life.name}]" if life.name else "")
    command = life.command or ((named,) if named else ())
    return Process(
        life.pid, life.parent, life.time, life.origin, life.executable, command, 0, life.cgroup, life.standing
    )
