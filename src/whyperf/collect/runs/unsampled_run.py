"""Recorders of runs in which nothing is sampled: whatever the target writes by itself, they log how the run went."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whyperf.collect.setup.folder import RecordingFolder
from whyperf.collect.setup.run_log import RunLog
from whyperf.collect.setup.start import Start
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler


class UnsampledRun:
    """A `Recorder`, but for what it starts and in which environment."""

    def __init__(self, folder: RecordingFolder, start: Start, no_waits: str) -> None:
        """`no_waits`: why waiting threads cannot be looked at."""
        self._raw = folder.raw.absolute()
        self._log = RunLog(folder, start)
        self._no_waits = no_waits

    @property
    def disk_full(self) -> bool:
        return self._log.disk_full

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """The target writes by itself."""

    def append(self, kind: str, **fields: Any) -> None:
        self._log.append(kind, **fields)

    def live_threads(self) -> list[tuple[int, int]]:
        return []

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:  # noqa: ARG002
        raise WhyperfError(self._no_waits, status=2)

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        self._log.finish(notes, totals, time=time, **stop)
