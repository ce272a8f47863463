"""For tests that record real processes: a tracer with a thread that serves it, and what it saw."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pytest

from tests.patience import PATIENCE_S, wait_until
from whyperf.collect.tracer.system_call_numbers import with_recorded_numbers
from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.recording.schemas.events import EventKind

PROGRAMS = Path(__file__).parent / "programs"


def why_not() -> str:
    """Why nothing can be recorded here; empty if it can."""
    try:
        from whyperf.collect._tracer import Tracer
    except ImportError as error:
        return f"the tracer cannot be loaded: {error}"
    try:
        Tracer(1 << 16, 0, "process", [EventKind.SWITCH], tempfile.gettempdir()).close()
    except OSError as error:
        return f"BPF programs may not be loaded here: {error}"
    return ""


needs_bpf = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be done")


@dataclass(frozen=True)
class Stack:
    addresses: tuple[int, ...]
    cut: int
    kernel: bool


def stacks_in(data: bytes) -> dict[int, Stack]:
    """By number."""
    found = {}
    at = 0
    while at < len(data):
        number, depth, flags = struct.unpack_from("<IHH", data, at)
        found[number] = Stack(struct.unpack_from(f"<{depth}Q", data, at + 8), flags >> 8, bool(flags & 1))
        at += 8 + 8 * depth
    return found


@dataclass
class Seen:
    """Everything recorded so far, in order of time."""

    records: Records = field(default_factory=lambda: np.zeros(0, RECORD))
    stacks: dict[int, Stack] = field(default_factory=dict)

    def of(
        self, kind: EventKind, *, pid: int | None = None, tid: int | None = None, detail: int | None = None
    ) -> Records:
        chosen = self.records["kind"] == kind
        for name, value in (("pid", pid), ("tid", tid), ("detail", detail)):
            if value is not None:
                chosen &= self.records[name] == value
        return self.records[chosen]


class Tracing:
    """`with Tracing(...) as tracing`: records until it ends; `seen()` drains."""

    def __init__(
        self,
        tables: Path,
        *,
        scope: str = "tree",
        kinds: Iterable[int] | None = None,
        ring_bytes: int = 8 << 20,
        sample_hz: float = 0,
        **options: object,
    ) -> None:
        from whyperf.collect._tracer import Tracer

        tables.mkdir(parents=True, exist_ok=True)
        # Nothing is shed unless a test asks for it: the machine may be busy.
        self.tracer = Tracer(ring_bytes, sample_hz, scope, kinds, tables, **{"shed_budget": 0, **options})  # type: ignore[arg-type]
        self.served: list[tuple[str, int, int, int, object]] = []
        self._seen = Seen()
        self._ends = threading.Event()
        self._server = threading.Thread(target=self._serve)

    def __enter__(self) -> Tracing:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._ends.set()
        self._server.join()
        self.tracer.close()

    def _serve(self) -> None:
        while not self._ends.is_set():
            self.served += self.tracer.serve(20)

    def spawn(self, command: list[str], **options: object) -> subprocess.Popen[bytes]:
        """Starts a program that is recorded from its first instruction on."""
        self.tracer.follow(os.getpid(), children_only=True)
        try:
            return subprocess.Popen(command, **options)  # type: ignore[call-overload, no-any-return]
        finally:
            self.tracer.unfollow(os.getpid())

    def run(self, command: list[str], seconds: float = PATIENCE_S) -> tuple[Seen, int, list[str]]:
        """Runs a program to its end: what was seen, its process, the lines that it printed."""
        process = self.spawn(command, stdout=subprocess.PIPE)
        output, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0, (command, process.returncode, output)
        return self.seen(), process.pid, output.decode().splitlines()

    def seen(self) -> Seen:
        pieces = [np.frombuffer(data, RECORD) for _, data in with_recorded_numbers(self.tracer.drain())]
        self._seen.stacks.update(stacks_in(self.tracer.new_stacks()))
        records = np.concatenate([self._seen.records, *pieces])
        self._seen.records = records[np.argsort(records["time"], kind="stable")]
        return self._seen

    def until(self, condition: Callable[[Seen], bool]) -> Seen:
        """Waits for something to be seen."""
        wait_until(lambda: condition(self.seen()))
        return self.seen()


def compiled(source: str, folder: Path, *flags: str, compiler: str = "gcc") -> Path:
    """A program of tests/collect/tracer/programs."""
    program = folder / Path(source).stem
    subprocess.run([compiler, "-O2", "-g", "-o", program, PROGRAMS / source, *flags], check=True)
    return program
