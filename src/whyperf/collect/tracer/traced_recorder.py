"""A program that samples itself and is traced at once: one recording, from two who know nothing of each other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyperf.collect.sampling.sampler import Sampler
from whyperf.collect.target.program import Program
from whyperf.collect.tracer.session import TraceSession
from whyperf.collect.usage.totals import process_tree
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler


class TracedRecorder:
    """A `Recorder`: the sampler, with a tracer beside it."""

    def __init__(self, sampler: Sampler, raw: Path, session: TraceSession) -> None:
        self._sampler = sampler
        self._session = session
        session.record_into(raw, sampler.append_chunk)
        self._others: set[int] = set()  # what this process had started before

    @property
    def disk_full(self) -> bool:
        return self._sampler.disk_full

    def started(self, program: Program) -> Program:
        self._others = self._descendants()
        self._session.expect_child()
        return self._sampler.started(program)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return self._sampler.environment(base)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        # Loading the tracer took its time: what is compared begins with the program.
        self._sampler.append("ready", time=time.monotonic_ns())
        self._session.child_started(self._descendants() - self._others)
        self._session.start()
        self._sampler.start(totals)

    def append(self, kind: str, **fields: Any) -> None:
        self._sampler.append(kind, **fields)

    def live_threads(self) -> list[tuple[int, int]]:
        return self._sampler.live_threads()

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:
        return self._sampler.blocked_threads(rate_hz)

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        notes += self._session.stop()
        self._sampler.finish(notes, totals, time=time, **stop)

    @staticmethod
    def _descendants() -> set[int]:
        return {process.pid for process in process_tree(os.getpid())}
