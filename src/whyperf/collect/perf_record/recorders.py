"""What a run, and what watching a running process, ask of whoever records: here perf does it by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whyperf.collect.perf_record.process import PerfProcess
from whyperf.collect.runs.attached_run import Log
from whyperf.collect.target.process_end import ProcessEnd
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler


class PerfRecorder:
    """A `Recorder` of a program that is started as it is."""

    def __init__(self, perf: PerfProcess, log: Log) -> None:
        self._perf = perf
        self._log = log

    @property
    def disk_full(self) -> bool:
        return self._log.full

    def started(self, program: Program) -> Program:
        return program

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return dict(base)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """perf works by itself."""

    def append(self, kind: str, **fields: Any) -> None:
        self._log.say(kind, **fields)

    def live_threads(self) -> list[tuple[int, int]]:
        return []

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:  # noqa: ARG002
        raise WhyperfError("Kernel events show all waits: --trace and --clock wall exclude each other.", status=2)

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        self._perf.stop()
        self._log.say("totals", time=time, at="stop", totals=asdict(totals))
        self._log.say("losses", notes=notes, counters={})
        self._log.say("stop", time=time, **stop)
        self._log.close()


class PerfWatch:
    """A `Watched` process, or all of them."""

    def __init__(self, perf: PerfProcess, pid: int | None) -> None:
        self._perf = perf
        self._end = ProcessEnd(pid)

    def start(self) -> None:
        """perf was told already."""

    def stop(self) -> None:
        self._perf.stop()
        self._end.close()

    def ended(self) -> bool:
        return self._end.has_come()

    def new_log_file(self) -> None:
        """perf's file is one."""

    def notes(self) -> list[str]:
        return []

    def counters(self) -> dict[str, object]:
        return {}
