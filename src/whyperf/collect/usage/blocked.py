"""Threads that wait, seen from outside at a fixed rate: they are never signalled, stopped or slowed.

A signal every few milliseconds would make poll() and nanosleep() return early, so the sampler in the target only sees
threads that use the CPU. What the others wait for is read here: system call, stack pointer and program counter from
/proc, the stack through process_vm_readv.
"""

from __future__ import annotations

import errno
import json
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

# At most this share of one CPU: with many threads the looks become rarer, and each weighs more. A look at one thread
# that moves takes 60 microseconds with cold caches: some 160 looks a second.
_CPU_SHARE = 0.02
_LONGEST_PERIOD_NS = 2_000_000_000
_WRITE_EVERY_NS = 1_000_000_000
# A thread that ran between two looks is known to wait now, not for how long: it is given no more periods than this.
_PERIODS_TRUSTED = 2
_NUMBER_MASK = 0xFFFFFF

_Seen = tuple[int, list[int], int, bool] | int | None  # as `Reader.look` returns it


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
    mean_period_ns: int = 0  # between looks; 0: there was none


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
        rate_hz: float,
    ) -> None:
        self._reader = Reader(tables)
        self._machine = os.uname().machine
        self._threads = threads
        self._append = append
        self._period_ns = self._shortest_ns = round(1e9 / rate_hz)
        self._watched: dict[ThreadRef, _Watched] = {}
        self._looks = self._blocked = self._not_permitted = self._gone = self._unseen_ns = self._cpu_ns = 0
        self._longest_ns = self._shortest_ns
        self._rounds = self._watched_ns = 0
        self._cut = [0] * len(CUT_REASONS)
        self._stopping = threading.Event()
        self._wake = self._waking = -1  # a pipe: closing its second end wakes the thread
        self._thread = threading.Thread(target=self._watch, name="blocked-threads", daemon=True)

    def start(self) -> None:
        self._wake, self._waking = os.pipe2(os.O_CLOEXEC)
        self._thread.start()

    def stop(self) -> None:
        if self._waking < 0:
            return
        self._stopping.set()
        os.close(self._waking)
        self._thread.join()
        os.close(self._wake)
        self._wake = self._waking = -1

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
            mean_period_ns=self._watched_ns // self._rounds if self._rounds else 0,
        )

    def _watch(self) -> None:
        last = written = time.monotonic_ns()
        try:
            known = list(self._threads())
            while True:
                cpu = time.thread_time_ns()
                now, seen = self._reader.look(_numbers(known), last + self._period_ns, self._wake)
                if self._stopping.is_set():
                    break
                known = self._note(known, seen, now, now - last)
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

    def _note(self, known: list[ThreadRef], seen: list[_Seen], now: int, since_ns: int) -> list[ThreadRef]:
        """What a look found of threads that were there before it, and a look at those that have come since. `since_ns`
        is the time since the last look, which this one stands for. All threads that are there now."""
        self._rounds += 1
        self._watched_ns += since_ns
        for thread, one in zip(known, seen, strict=True):
            self._note_thread(thread, one, now, since_ns)
        present = list(self._threads())
        if present == known:
            return known
        come = [thread for thread in present if thread not in self._watched]
        found = self._reader.look(_numbers(come), 0, self._wake)[1]
        for thread, one in zip(come, found, strict=False):
            self._note_thread(thread, one, now, since_ns)
        for thread in self._watched.keys() - set(present):
            self._watched[thread].close_wait()
        for pid in {thread.pid for thread in known} - {thread.pid for thread in present}:
            self._reader.forget(pid)
        return present

    def _note_thread(self, thread: ThreadRef, seen: _Seen, now: int, since_ns: int) -> None:
        watched = self._watched.setdefault(thread, _Watched())
        self._looks += 1
        if seen is None or isinstance(seen, int):
            self._gone += seen == errno.ESRCH
            self._not_permitted += seen is not None and seen != errno.ESRCH
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
        """Appends everything seen so far, a chunk a thread, and how often it was looked."""
        if period := self.losses().mean_period_ns:
            said = {"type": "looks", "time": time.monotonic_ns(), "period_ns": period}
            self._append(ChunkKind.JSON, json.dumps(said).encode())
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


def _numbers(threads: list[ThreadRef]) -> list[tuple[int, int]]:
    return [(thread.pid, thread.tid) for thread in threads]
