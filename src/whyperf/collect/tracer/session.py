"""One tracer at work: a thread that takes events out of the kernel's rings and answers what the kernel asks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.collect.sampler import tables_folder
from whyperf.collect.tracer.facts import FACTS, Fact, Followed, mappings_of
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.kallsyms import KernelNames
from whyperf.collect.tracer.living import living_processes, read_process, read_threads
from whyperf.collect.tracer.opening import notes_of, open_tracer, trace_of
from whyperf.collect.tracer.traced import KERNEL_FIRST, RECORD, Records
from whyperf.recording.chunks import MAX_PAYLOAD, ChunkKind
from whyperf.recording.events import EventKind

_SERVE_MS = 50
_FACTS_EVERY_S = 2.0
_PIDS = 1 << 22  # the highest that Linux gives
_EVENTS_AT_ONCE = MAX_PAYLOAD // RECORD.itemsize * RECORD.itemsize


@dataclass(frozen=True)
class TraceWanted:
    scope: str  # "tree", "process" or "all"
    sample_hz: int = 99
    ring_bytes: int = 8 << 20  # of each CPU: what comes between two looks


class TraceSession:
    """Records from `start()` to `stop()`. Events go to `append`, what explains them to a file in `raw`.

    `append` may raise OSError when the disk is full: nothing more is recorded then, and whoever gave it knows.
    """

    def __init__(self, raw: Path, wanted: TraceWanted, append: Callable[[int, bytes], None]) -> None:
        self._wanted = wanted
        self._append = append
        self._tracer = open_tracer(wanted.scope, wanted.ring_bytes, wanted.sample_hz, str(tables_folder()))
        self._facts = FactsFile(raw / FACTS)
        self._known = np.zeros(_PIDS, bool)
        self._kernel_addresses: set[int] = set()
        self._names: KernelNames | None = None
        self._told_at = time.monotonic()
        self._stopping = threading.Event()
        self._closed = False
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._record, name="trace", daemon=True)
        self._write([trace_of(self._tracer, wanted.scope, wanted.sample_hz)])

    def expect_child(self) -> None:
        """From now on, whatever this process starts is followed."""
        self._tracer.follow(os.getpid(), children_only=True)

    def child_started(self, pids: Iterable[int]) -> None:
        """These came of it; what else this process starts is not followed."""
        self._tracer.unfollow(os.getpid())
        self._write([Followed(pid) for pid in pids])

    def follow(self, pid: int) -> None:
        self._write([Followed(pid)])
        self._tracer.follow(pid)
        self._meet([pid])

    def start(self) -> None:
        if self._wanted.scope == "all":
            self._meet(living_processes())
        self._thread.start()

    def stop(self) -> list[str]:
        """Takes what is left, and says what the user should know."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        notes: list[str] = []
        try:
            if self.failure is None:
                self._take()
                self._tell_kernel()
            trace = trace_of(self._tracer, self._wanted.scope, self._wanted.sample_hz)
            self._write([trace])
            notes = notes_of(trace)
            if self._names is not None and not self._names:
                notes.append("The kernel hides its addresses (kptr_restrict): its functions have no names.")
        finally:
            self.close()
        return notes

    def close(self) -> None:
        """Nothing of it stays in the kernel."""
        if not self._closed:
            self._closed = True
            self._stopping.set()
            if self._thread.ident is not None:
                self._thread.join()
            self._tracer.close()
            self._facts.close()

    def _record(self) -> None:
        try:
            while not self._stopping.is_set():
                self._serve()
                self._take()
                if time.monotonic() - self._told_at >= _FACTS_EVERY_S:
                    self._tell_kernel()
                    self._facts.sync()
                    self._told_at = time.monotonic()
        except Exception as error:  # the target runs on; `stop` says it
            self.failure = error

    def _serve(self) -> None:
        served = self._tracer.serve(_SERVE_MS)
        self._write([mappings_of(when, pid, rows) for when, pid, rows in served])

    def _take(self) -> None:
        for _, events in self._tracer.drain():
            self._look(np.frombuffer(events, RECORD))
            for at in range(0, len(events), _EVENTS_AT_ONCE):
                self._append(ChunkKind.EVENTS, events[at : at + _EVENTS_AT_ONCE])
        stacks = self._tracer.new_stacks()
        if stacks:
            self._kernel_addresses |= kernel_addresses(stacks)
            self._facts.add_stacks(stacks)

    def _look(self, records: Records) -> None:
        """Asks /proc for whoever is new, or has become another program."""
        kind = records["kind"]
        pids = records["pid"].astype(np.int64) & (_PIDS - 1)
        self._known[pids[kind == EventKind.EXEC]] = False
        others = (records["other"] >> np.uint64(32)).astype(np.int64) & (_PIDS - 1)
        every = np.concatenate((pids, others))
        new = np.unique(every[~self._known[every]])
        if len(new):
            self._meet(new[new > 0].tolist())
        ended = (kind == EventKind.EXIT) & (records["pid"] == records["tid"])
        self._known[pids[ended]] = False

    def _meet(self, pids: list[int]) -> None:
        facts: list[Fact] = []
        for pid in pids:
            self._known[pid] = True
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

    def _write(self, facts: list[Fact]) -> None:
        self._facts.add(facts)


def kernel_addresses(packed: bytes) -> set[int]:
    """Those in kernel stacks: nothing else has the highest bit set."""
    words = np.frombuffer(packed, np.uint64)
    return set(words[words >= KERNEL_FIRST].tolist())
