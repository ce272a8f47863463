"""Runs of which nothing is written down: only the totals are wanted, or what the target notes by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyperf.collect.runs.runner import OnTick, run_to_the_end
from whyperf.collect.runs.work import DriverWork, OneRun
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Totals

if TYPE_CHECKING:
    from whyperf.collect.usage.blocked import BlockedSampler


class UnrecordedRun:
    """A `Recorder` that records nothing."""

    disk_full = False

    def started(self, program: Program) -> Program:
        return program

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return dict(base)

    def start(self, totals: Callable[[], Totals | None]) -> None:
        """Nothing to start."""

    def append(self, kind: str, **fields: Any) -> None:
        """Nowhere to write it."""

    def live_threads(self) -> list[tuple[int, int]]:
        return []

    def blocked_threads(self, rate_hz: float) -> BlockedSampler:  # noqa: ARG002
        raise WhyperfError("Waiting threads are looked at only in runs that are recorded.", status=2)

    def finish(self, notes: list[str], totals: Totals, *, time: int, **stop: Any) -> None:
        """Nothing to finish."""


def run_unrecorded(
    program: Program,
    output: Path,
    *,
    lifecycle: Lifecycle,
    environment: Mapping[str, str],
    on_tick: OnTick = lambda: None,
    recorder: UnrecordedRun | None = None,
    capture_output: bool = True,
) -> RunOutcome:
    """Runs `program` with its lifecycle; what it prints goes to files in the folder `output`, or to our own streams."""
    recorder = recorder or UnrecordedRun()
    work = DriverWork(recorder, "unit") if lifecycle.drive is not None else OneRun()
    return run_to_the_end(
        program,
        output,
        recorder,
        work,
        lifecycle=lifecycle,
        environment=environment,
        capture_output=capture_output,
        on_tick=on_tick,
    )
