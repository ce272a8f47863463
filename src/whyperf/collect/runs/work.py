"""Units of work done since the window opened, by whoever counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from whyperf.collect.runs.recorder import Recorder


class WorkAccount(Protocol):
    def window_opens(self, *, from_start: bool) -> None:
        """What was counted so far is warm-up, unless the window begins with the target."""

    def close(self, now: int) -> float | None:
        """Writes the last count; the units done within the window, None when nobody counted."""


class DriverWork:
    """Adds up what the driver reports; every report goes into the recording."""

    def __init__(self, recorder: Recorder, unit: str) -> None:
        self._recorder = recorder
        self._unit = unit
        self._reported: float | None = None
        self._warm_up = 0.0
        self._open = False

    def report(self, now: int, units: float) -> None:
        """`units` since the driver's start."""
        self._reported = units
        if self._open:
            self._recorder.append("work", time=now, unit=self._unit, count=units - self._warm_up)

    def window_opens(self, *, from_start: bool) -> None:  # noqa: ARG002 - the driver starts after the target
        self._warm_up = self._reported or 0.0
        self._open = True

    def close(self, now: int) -> float | None:  # noqa: ARG002 - every report has its own time
        self._open = False
        return None if self._reported is None else self._reported - self._warm_up


class CountsCalls(Protocol):
    def count(self) -> int:
        """From the target's start on."""


class CalledWork:
    """Counts calls of a function in the target."""

    def __init__(self, recorder: Recorder, unit: str, counter: CountsCalls) -> None:
        self._recorder = recorder
        self._unit = unit
        self._counter = counter
        self._warm_up = 0

    def window_opens(self, *, from_start: bool) -> None:
        self._warm_up = 0 if from_start else self._counter.count()

    def close(self, now: int) -> float | None:
        units = float(self._counter.count() - self._warm_up)
        self._recorder.append("work", time=now, unit=self._unit, count=units)
        return units


class ReportedWork:
    """Asks for what the program itself reports when it has ended; the window must not open after work has begun."""

    def __init__(self, recorder: Recorder, unit: str, reported: Callable[[], float | None]) -> None:
        self._recorder = recorder
        self._unit = unit
        self._reported = reported

    def window_opens(self, *, from_start: bool) -> None:  # noqa: ARG002
        return None

    def close(self, now: int) -> float | None:
        units = self._reported()
        if units is not None:
            self._recorder.append("work", time=now, unit=self._unit, count=units)
        return units


class OneRun:
    """Nobody counts: the run itself is the unit, which sealing knows."""

    def window_opens(self, *, from_start: bool) -> None:  # noqa: ARG002
        return None

    def close(self, now: int) -> float | None:  # noqa: ARG002
        return None
