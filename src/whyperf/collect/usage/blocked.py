"""Threads that wait, seen from outside at a fixed rate: they are never signalled, stopped or slowed.

A signal every few milliseconds would make poll() and nanosleep() return early, so the sampler in the target only sees
threads that use the CPU. What the others wait for is read here: system call, stack pointer and program counter from
/proc, the stack through process_vm_readv.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike

from whyperf.collect._stacks import Reader
from whyperf.recording.names.call_numbering import recorded_number
from whyperf.recording.raw_log import ringrecords
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import CUT_REASONS

# At most this share of one CPU: with many threads the looks become rarer, and each weighs more.
_CPU_SHARE = 0.01
_LONGEST_PERIOD_NS = 2_000_000_000
_WRITE_EVERY_NS = 1_000_000_000
# A thread that ran between two looks is known to wait now, not for how long: it is given no more periods than this.
_PERIODS_TRUSTED = 2
_NUMBER_MASK = 0xFFFFFF


@dataclass(frozen=True)
class ThreadRef:
    """A thread to watch; `sequence` and `start` name its slot in the rings (0 where it has none)."""

    pid: int
    tid: int
    sequence: int = 0
    start: int = 0


@dataclass(frozen=True)
class BlockedLosses:
    """What was looked at and what could not be read."""

    looks: int = 0
    blocked: int = 0
    running: int = 0
    not_permitted: int = 0
    gone: int = 0
    unseen_ns: int = 0  # time between looks that moved threads cannot be charged with
    cut: tuple[int, ...] = (0,) * len(CUT_REASONS)  # stacks by enum whyperf_cut
    cpu_ns: int = 0  # what watching cost
    longest_period_ns: int = 0  # above 1/rate when there were too many threads for it


@dataclass
class _Wait:
    """One stack that a thread is blocked in, and for how long it has been seen there."""

    number: int
    pcs: list[int]
    cut: int
    seen_at: int
    weight_ns: int

    def encoded(self) -> bytes:
        return ringrecords.blocked(self.seen_at, self.pcs, self.weight_ns, self.number & _NUMBER_MASK, self.cut)


@dataclass
class _Watched:
    """What is still to be written of one thread."""

    wait: _Wait | None = None
    records: bytearray = field(default_factory=bytearray)

    def close_wait(self) -> None:
        if self.wait is not None and self.wait.weight_ns:
            self.records += self.wait.encoded()
        self.wait = None


class BlockedSampler:
    """Looks at `threads()` `rate_hz` times a second and appends `blocked` chunks through `append(kind, payload)`.

    `start()` begins in a daemon thread of its own, `stop()` ends it and writes what is left; `losses()` may be asked
    at any time. `append` and `threads` are called from that thread; an OSError of theirs ends the watching quietly.
    """

    def __init__(
        self,
        tables: str | PathLike[str],
        threads: Callable[[], Iterable[ThreadRef]],
        append: Callable[[int, bytes], None],
        rate_hz: float = 50,
    ) -> None:
        self._reader = Reader(tables)
        self._machine = os.uname().machine
        self._threads = threads
        self._append = append
        self._period_ns = self._shortest_ns = round(1e9 / rate_hz)
        self._watched: dict[ThreadRef, _Watched] = {}
        self._processes: set[int] = set()
        self._looks = self._blocked = self._not_permitted = self._gone = self._unseen_ns = self._cpu_ns = 0
        self._longest_ns = self._shortest_ns
        self._cut = [0] * len(CUT_REASONS)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="blocked-threads", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def losses(self) -> BlockedLosses:
        return BlockedLosses(
            looks=self._looks,
            blocked=self._blocked,
            running=self._looks - self._blocked - self._not_permitted - self._gone,
            not_permitted=self._not_permitted,
            gone=self._gone,
            unseen_ns=self._unseen_ns,
            cut=tuple(self._cut),
            cpu_ns=self._cpu_ns,
            longest_period_ns=self._longest_ns,
        )

    def _watch(self) -> None:
        last = written = time.monotonic_ns()
        try:
            while not self._stopping.wait(max(0, last + self._period_ns - time.monotonic_ns()) / 1e9):
                now, cpu = time.monotonic_ns(), time.thread_time_ns()
                self.look(now, now - last)
                last = now
                if now - written >= _WRITE_EVERY_NS:
                    written = now
                    self.write()
                self._keep_within_share(time.thread_time_ns() - cpu)
            self.write()
        except OSError:
            self._stopping.set()  # the log takes nothing more, and its owner knows why

    def _keep_within_share(self, cpu_ns: int) -> None:
        """The period follows the mean cost of a look: quickly up, slowly down again."""
        self._cpu_ns += cpu_ns
        affordable = min(round(cpu_ns / _CPU_SHARE), _LONGEST_PERIOD_NS)
        self._period_ns = max(self._shortest_ns, (7 * self._period_ns + affordable) // 8)
        self._longest_ns = max(self._longest_ns, self._period_ns)

    def look(self, now: int, since_ns: int) -> None:
        """Looks at every thread once; `since_ns` is the time since the last look, which this one stands for."""
        present = set()
        for thread in self._threads():
            present.add(thread)
            self._look_at(thread, now, since_ns)
        for thread in self._watched.keys() - present:
            self._watched[thread].close_wait()
        processes = {thread.pid for thread in present}
        for pid in self._processes - processes:
            self._reader.forget(pid)
        self._processes = processes

    def _look_at(self, thread: ThreadRef, now: int, since_ns: int) -> None:
        watched = self._watched.setdefault(thread, _Watched())
        self._looks += 1
        try:
            seen = self._reader.blocked(thread.pid, thread.tid)
        except PermissionError:
            self._not_permitted += 1
            seen = None
        except ProcessLookupError:
            self._gone += 1
            seen = None
        if seen is None:
            watched.close_wait()
            return
        own, pcs, cut, moved = seen
        self._blocked += 1
        self._cut[cut] += 1
        if watched.wait is not None and not moved:
            watched.wait.weight_ns += since_ns
            watched.wait.seen_at = now
            return
        watched.close_wait()
        weight = min(since_ns, _PERIODS_TRUSTED * self._period_ns)
        self._unseen_ns += since_ns - weight
        number = recorded_number(own, self._machine)
        watched.wait = _Wait(number, pcs, cut, now, weight)

    def write(self) -> None:
        """Appends everything seen so far, a chunk a thread."""
        for thread, watched in list(self._watched.items()):
            going_on = watched.wait
            watched.close_wait()
            if watched.records:
                head = ringrecords.owner(thread.pid, thread.tid, thread.sequence, thread.start)
                self._append(ChunkKind.BLOCKED, head + bytes(watched.records))
                watched.records.clear()
            if going_on is None:
                del self._watched[thread]
            else:
                watched.wait = _Wait(going_on.number, going_on.pcs, going_on.cut, going_on.seen_at, 0)
