"""Timed calls within the window of a run: percentiles, units of work, and what was lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from whyperf.collect.latency.durations import DurationsFile, cell_ticks
from whyperf.collect.latency.plans import LatencyPlan
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.latency import Latency, SlowRequest, cell_of

_FILE = "durations"


class TimedCalls:
    def __init__(self, plan: LatencyPlan, raw: Path) -> None:
        self._plan = plan
        try:
            self._file = DurationsFile(plan.write(raw) / _FILE)
        except OSError as error:
            raise WhyperfError(f"{raw} cannot be written: {error.strerror}.", f"df -h {raw}") from None
        self._before = self._file.tally()
        self._opened: int | None = None  # when the window did

    def window_opens(self, now: int, *, from_start: bool) -> None:
        """What ended so far is warm-up, unless the window begins with the target."""
        self._opened = now
        if not from_start:
            self._before = self._file.tally()
            self._file.open_window()

    def count(self) -> int:
        """Calls that have ended, from the target's start on."""
        return self._file.tally().ended

    @property
    def latency(self) -> Latency | None:
        """None before the window opens, and where no call has ended."""
        if self._opened is None:
            return None
        now, opened = self._file.tally(), self._opened
        cells: Counter[int] = Counter()
        seconds = cell_ticks() * self._file.seconds_per_tick()
        added = now.cells - self._before.cells
        for row in np.flatnonzero(added).tolist():
            cells[cell_of(seconds[row])] += int(added[row])
        if not cells:
            return None
        return Latency(
            "calls",
            sum(cells.values()),
            {str(cell): number for cell, number in sorted(cells.items())},
            function=self._plan.function,
            slowest=tuple(
                SlowRequest(
                    one.ticks * self._file.seconds_per_tick(),
                    max(0.0, (self._file.moment(one.began) - opened) / 1e9),
                    one.pid,
                    one.tid,
                )
                for one in self._file.slowest()
            ),
            lost=max(0, now.lost - self._before.lost),
            unfinished=now.unfinished,
            nested=max(0, now.nested - self._before.nested),
        )

    @property
    def notes(self) -> list[str]:
        name, (patched, not_patched) = self._plan.function, self._file.patched
        tally, notes = self._file.tally(), self._plan.notes
        if not patched:
            return [f"No call of {name} was timed: no process loaded the file that it is in, or it had changed since."]
        if not_patched:
            notes.append(f"{not_patched} process(es) ran {name} untimed: their code could not be changed.")
        if not tally.begun:
            notes.append(f"{name} was never called.")
        if tally.lost:
            notes.append(
                f"{tally.lost} call(s) of {name} are not timed: they were left by an exception or longjmp, or came "
                "while such a call seemed to go on."
            )
        return notes
