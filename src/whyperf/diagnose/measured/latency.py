"""How long requests take: percentiles of good and bad runs, and what runs drawn anew would show of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Percentile
from whyperf.engines.recording_protocol import has_events
from whyperf.engines.run import Run
from whyperf.recording.sealed.latency import Latency, cell_seconds

PREFIX = "latency_p"
_SHOWN = (50.0, 90.0, 99.0, 99.9)
_JUDGED = (50.0, 99.0)  # what people complain about
_LEAST_BEYOND = 5  # requests slower than a percentile, below which it is the luck of a few
_DRAWN = 300
_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True)
class Requests:
    """What all runs know of their requests."""

    percentiles: tuple[Percentile, ...]
    measures: tuple[Measure, ...]  # of what is judged, a figure a run
    added_s: float | None  # per run, all requests together; None: unknown
    function: str = ""  # whose calls they are; empty: others

    def slower(self, settings: DiagnoseSettings) -> Measure | None:
        """The percentile that grew most, of those that grew beyond doubt."""
        grew = [one for one in self.measures if judge(one, settings.latency).change is Direction.GREW]
        return max(grew, key=lambda one: one.relative, default=None)


def requests_of(good: Sequence[Run], bad: Sequence[Run], settings: DiagnoseSettings) -> Requests | None:
    """None where not all runs know how long their requests took."""
    sides = [[_latency(run) for run in side] for side in (good, bad)]
    known = [[one for one in side if one is not None] for side in sides]
    if [len(side) for side in sides] != [len(side) for side in known]:
        return None
    percentiles, measures = [], []
    for which in _SHOWN:
        before, after = (_figures(side, which) for side in known)
        if before is None or after is None:
            continue
        measure = Measure(f"{PREFIX}{which:g}_s", before, after)
        if which in _JUDGED:
            measures.append(measure)
        usual, slow = (_interval(side, which) for side in known)
        certain = judge(measure, settings.latency).change in (Direction.GREW, Direction.SHRANK)
        percentiles.append(Percentile(which, measure.good_mean, measure.bad_mean, usual, slow, certain))
    functions = {one.function for side in known for one in side}
    function = functions.pop() if len(functions) == 1 else ""
    return Requests(tuple(percentiles), tuple(measures), _added(known), function) if percentiles else None


def _latency(run: Run) -> Latency | None:
    """What was timed in the target, or the driver said; else what kernel events show."""
    if run.manifest.totals.latency is not None or not has_events(run.recording):
        return run.manifest.totals.latency
    from whyperf.engines.contexts.requests import latency_seen  # compiled code, for those few who have traced

    return latency_seen(run)


def _figures(runs: Sequence[Latency], which: float) -> tuple[float, ...] | None:
    found = [one.percentile(which) for one in runs if not one.count or one.count * (1 - which / 100) >= _LEAST_BEYOND]
    known = [one for one in found if one is not None]
    return tuple(known) if len(known) == len(runs) else None


def _added(sides: Sequence[Sequence[Latency]]) -> float | None:
    means = []
    for side in sides:
        every = [one.mean_s * one.count for one in side if one.mean_s is not None]
        if len(every) < len(side):
            return None
        means.append(sum(every) / len(every))
    return means[1] - means[0]


def _interval(runs: Sequence[Latency], which: float) -> tuple[float, float]:
    """In which the percentile lies in 95 of 100 sets of runs, drawn from these and from their requests."""
    if not all(one.count for one in runs):
        known = [value for one in runs if (value := one.percentile(which)) is not None]
        return min(known), max(known)
    cells = np.array(sorted({int(cell) for one in runs for cell in one.cells}))
    counts = np.array([[one.cells.get(str(cell), 0) for cell in cells.tolist()] for one in runs])
    draw = np.random.default_rng(0)  # the same recordings give the same report
    drawn = [_percentile(_redrawn(counts, draw), which) for _ in range(_DRAWN)]
    low, high = np.percentile([cell_seconds(int(cells[at])) for at in drawn], _INTERVAL)
    return float(low), float(high)


def _redrawn(counts: npt.NDArray[np.int64], draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """Runs, and then the requests of each."""
    chosen = counts[draw.integers(len(counts), size=len(counts))]
    return np.sum([draw.multinomial(run.sum(), run / run.sum()) for run in chosen], axis=0)  # type: ignore[no-any-return]


def _percentile(counts: npt.NDArray[np.int64], which: float) -> int:
    wanted = np.ceil(counts.sum() * which / 100)
    return int(np.searchsorted(np.cumsum(counts), wanted))
