"""One tracer at work: a thread that takes events out of the kernel's rings and answers what the kernel asks."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from whyperf.collect.tracer.facts import FACTS, Fact, FollowedProcess, mappings_of
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.kallsyms import KernelNames
from whyperf.collect.tracer.opening import Allowance, notes_of, open_tracer, trace_of
from whyperf.collect.tracer.proc_files import living_processes, read_process, read_threads
from whyperf.collect.tracer.queue_rules import load_queues
from whyperf.collect.tracer.system_call_numbers import with_recorded_numbers
from whyperf.collect.tracer.task_probes import Module, TaskProbes
from whyperf.collect.tracer.traced import KERNEL_FIRST, RECORD
from whyperf.collect.tracer.watched_variables import WatchedFlags
from whyperf.collect.usage.totals import process_tree
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.sealed.manifest import TraceSummary

Served = tuple[str, int, int, int, list[Module] | None]

_SERVE_MS = 50
# The program comes first. What begins, or works now and then, is recorded as a whole all the same. A record that is
# read is copied, has its checksum taken and is written.
_ALLOWANCE = Allowance(share=0.05, burst_s=0.03, read_s=250e-9)
_TAKE_S = 0.04  # between two looks at the rings
_FACTS_EVERY_S = 2.0
_CLOCK_SET_S = 1.0  # what gradual correction does not reach
_PIDS = 1 << 22  # the highest that Linux gives
EVENTS_AT_ONCE = 2048 * RECORD.itemsize  # small beside the smallest bound on a recording


@dataclass(frozen=True)
class TraceWanted:
    scope: str  # "tree", "process" or "all"
    sample_hz: int = 99
    ring_bytes: int = 64 << 20  # of all CPUs together: what comes between two looks
    watched: tuple[str, ...] = ()  # variables
    queues: bool = True  # tasks that programs put into queues of their own


@dataclass(frozen=True)
class _Taken:
    """What one look at the kernel gave, as `_tracer` gives it."""

    served: list[Served]
    events: list[tuple[int, bytes]] = field(default_factory=list)
    stacks: bytes = b""


class TraceSession:
    """A loaded tracer, which records from `start()` to `stop()`. `close()` must be called, whatever happens.

    Events go to `append`, what explains them to a file in `raw`. `append` may raise OSError when the disk is full:
    nothing more is recorded then, and whoever gave it knows.
    """

    def __init__(self, wanted: TraceWanted) -> None:
        self._wanted = wanted
        self._tasks = TaskProbes(load_queues() if wanted.queues else (), everywhere=wanted.scope == "all")
        self._tracer = open_tracer(wanted.scope, wanted.ring_bytes, wanted.sample_hz, _ALLOWANCE)
        self._flags = WatchedFlags(wanted.watched)
        self._append: Callable[[int, bytes], None] = lambda _kind, _payload: None
        self._facts: FactsFile | None = None
        self._known = bytearray(_PIDS)
        self._kernel_addresses: set[int] = set()
        self._names: KernelNames | None = None
        self._told_at = time.monotonic()
        self._began = time.monotonic_ns()
        self._clock_offset = _clock_offset()
        self._stopping = threading.Event()
        self._closed = False
        self._failure: Exception | None = None
        self._taken: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._talk, self._keep)]

    def record_into(self, raw: Path, append: Callable[[int, bytes], None]) -> None:
        """Before anything else. OSError when the disk is full."""
        self._append = append
        self._facts = FactsFile(raw / FACTS)
        self._write([self._trace()])

    def expect_child(self) -> None:
        """From now on, whatever this process starts is followed."""
        self._tracer.follow(os.getpid(), children_only=True)
        self._tracer.resume()

    def child_started(self, pids: Iterable[int]) -> None:
        """These came of it; what else this process starts is not followed."""
        self._tracer.unfollow(os.getpid())
        self._write([FollowedProcess(pid) for pid in pids])

    def prepare(self, pid: int | None) -> None:
        """Makes known what already runs: this process and its descendants, or everybody."""
        pids = living_processes() if pid is None else [process.pid for process in process_tree(pid)]
        for one in pids:
            with contextlib.suppress(ProcessLookupError):
                if pid is not None:
                    self._tracer.follow(one)
                    self._write([FollowedProcess(one)])
            self._known[one] = 1
            self._meet([one])
            self._learn(one)

    def start(self) -> None:
        self._tracer.resume()
        for thread in self._threads:
            thread.start()

    def stop(self) -> list[str]:
        """Takes what is left, and says what the user should know."""
        self._tracer.pause()
        self._join()
        notes: list[str] = []
        try:
            if self._failure is None:
                self._write_down(self._take(self._tracer.serve(0)))
                self._tell_kernel()
            trace = self._trace()
            notes = [*notes_of(trace), *self._flags.notes(), *self._tasks.notes()]
            self._write([trace])
        except OSError as error:
            self._failure = error
        finally:
            self.close()
        if self._names is not None and not self._names:
            notes.append("The kernel hides its addresses (kptr_restrict): its functions have no names.")
        set_by = (_clock_offset() - self._clock_offset) / 1e9
        if abs(set_by) > _CLOCK_SET_S:
            notes.append(f"The system's clock was set by {set_by:+.1f} s meanwhile; recorded times go by another one.")
        if self._failure is not None:
            notes.append(f"Kernel events were not recorded to the end: {self._failure}.")
        return notes

    def close(self) -> None:
        """Nothing of it stays in the kernel."""
        if not self._closed:
            self._closed = True
            self._join()
            self._tasks.close()
            self._tracer.close()
            if self._facts is not None:
                self._facts.close()

    def _join(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _talk(self) -> None:
        """With the kernel, and with nothing else: a program that starts is waiting for its unwind tables."""
        try:
            taken_at = 0.0
            while not self._stopping.is_set():
                served = self._tracer.serve(_SERVE_MS)
                for kind, _, pid, child, modules in served:
                    self._met(pid, modules or ())
                    if kind == "fork":
                        self._tasks.forked(self._tracer, pid, child)
                    elif kind == "exit":
                        self._tasks.ended(pid)
                # Rings are large: where processes come and go by the thousand, each look must be worth its while.
                if time.monotonic() - taken_at >= _TAKE_S:
                    self._taken.put(self._take(served))
                    taken_at = time.monotonic()
                elif served:
                    self._taken.put(_Taken(served))
        except Exception as error:  # the target runs on; `stop` says it
            self._failure = error
        self._taken.put(None)

    def _met(self, pid: int, modules: Sequence[Module]) -> None:
        self._flags.met(self._tracer, pid, modules)
        self._tasks.met(self._tracer, pid, modules)

    def _take(self, served: list[Served]) -> _Taken:
        tasks = self._tasks.take(self._tracer)
        events = [*with_recorded_numbers(self._tracer.drain()), *([(0, tasks.records)] if tasks.records else [])]
        return _Taken(served, events, self._tracer.new_stacks() + tasks.stacks)

    def _trace(self) -> TraceSummary:
        """As of now."""
        trace = trace_of(self._tracer, self._wanted.scope, self._wanted.sample_hz, self._began)
        return replace(trace, queues=self._tasks.queues, shed=trace.shed + self._tasks.shed())

    def _keep(self) -> None:
        """Writes down what was taken."""
        try:
            while (taken := self._taken.get()) is not None:
                self._write_down(taken)
                if time.monotonic() - self._told_at >= _FACTS_EVERY_S:
                    self._tell_kernel()
                    self._sync()
                    self._told_at = time.monotonic()
        except Exception as error:
            self._failure = error
            self._stopping.set()

    def _write_down(self, taken: _Taken) -> None:
        for kind, _, pid, _, _ in taken.served:
            if kind == "exec":
                self._known[pid] = 1
                self._meet([pid])
        self._write([mappings_of(when, pid, modules) for _, when, pid, _, modules in taken.served if modules])
        for _, events in taken.events:
            self._look(events)
            self._flags.look(np.frombuffer(events, RECORD))
            for at in range(0, len(events), EVENTS_AT_ONCE):
                self._append(ChunkKind.EVENTS, events[at : at + EVENTS_AT_ONCE])
        if taken.stacks:
            self._kernel_addresses |= kernel_addresses(taken.stacks)
            self._write([], taken.stacks)

    def _learn(self, pid: int) -> None:
        # Those of the kernel have no memory; others may have ended.
        with contextlib.suppress(OSError):
            modules = self._tracer.learn(pid)
            if modules:
                self._met(pid, modules)
                self._write([mappings_of(time.monotonic_ns(), pid, modules)])

    def _look(self, events: bytes) -> None:
        """Asks /proc for whoever is new, or has become another program."""
        from whyperf.collect._tracer import unknown_processes

        self._meet(list(dict.fromkeys(unknown_processes(events, self._known))))

    def _meet(self, pids: list[int]) -> None:
        facts: list[Fact] = []
        for pid in pids:
            process = read_process(pid)
            if process is not None:
                facts += [process, *read_threads(pid)]
        self._write(facts)

    def _tell_kernel(self) -> None:
        """Names of what kernel stacks have shown since the last time, so that a killed recorder leaves them too."""
        if self._kernel_addresses:
            self._names = KernelNames() if self._names is None else self._names
            self._write([self._names.code(self._kernel_addresses)])
            self._kernel_addresses = set()

    def _write(self, facts: list[Fact], stacks: bytes = b"") -> None:
        assert self._facts is not None, "record_into() comes first"
        self._facts.add(facts)
        self._facts.add_stacks(stacks)

    def _sync(self) -> None:
        if self._facts is not None:
            self._facts.sync()


def _clock_offset() -> int:
    return time.time_ns() - time.monotonic_ns()


def kernel_addresses(packed: bytes) -> set[int]:
    """Those in kernel stacks: nothing else has the highest bit set."""
    words = np.frombuffer(packed, np.uint64)
    return set(words[words >= KERNEL_FIRST].tolist())
