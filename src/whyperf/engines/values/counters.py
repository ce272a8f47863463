"""Values that track time: clocks, counters, ids. Only how much they grow per unit of work can be abnormal in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.settings import ValuesSettings

# So many readings, evenly spaced, show whether a value tracks time.
_LOOKED_AT = 400
_FEWEST = 20
# What clocks count: nanoseconds, microseconds, milliseconds, seconds.
_TICKS_PER_NS = (1.0, 1e-3, 1e-6, 1e-9)
# A clock's or an id's origin lies far away: its value is this many times what it gains in a run.
_FAR = 10.0


class Tracking(Enum):
    NO = "no"
    CLOCK = "clock"
    SAME = "same"  # a counter that grows by as much per unit of work
    CHANGED = "changed"
    UNSURE = "unsure"  # differs, in too few runs to tell


@dataclass(frozen=True)
class Track:
    """A numeric variable over one run: a few hundred readings, when they were made, and the work done meanwhile."""

    values: Floats
    time: Ints  # nanoseconds
    units: float


@dataclass(frozen=True)
class CounterGrowth:
    tracking: Tracking
    distance: float = 0.0
    within: float = 0.0
    good: float = 0.0  # growth per unit of work
    bad: float = 0.0


def judge_growth(good: Sequence[Track], bad: Sequence[Track], settings: ValuesSettings) -> CounterGrowth:
    good, bad = ([track for track in side if len(track.values) >= _FEWEST] for side in (good, bad))
    if not good or not bad:
        return CounterGrowth(Tracking.NO)
    if not all(_tracks(side, settings.tracking_correlation) for side in (good, bad)):
        return CounterGrowth(Tracking.NO)
    if _is_clock((*good, *bad), settings):
        return CounterGrowth(Tracking.CLOCK)
    gained = [np.array([_gain(track) for track in side]) for side in (good, bad)]
    if min(float(one.min()) for one in gained) <= 0:
        return CounterGrowth(Tracking.NO)
    logs = [np.log(one) for one in gained]
    difference = abs(float(np.median(logs[1]) - np.median(logs[0])))
    within = max(float(np.ptp(one)) for one in logs)
    typical = [float(np.median(one)) for one in gained]
    if difference < float(np.log(settings.counter_factor)):
        return CounterGrowth(Tracking.SAME, 0.0, _apart(within), *typical)
    enough = min(len(good), len(bad)) >= settings.run_level_runs
    sure = enough and difference >= settings.run_level_factor * within
    return CounterGrowth(Tracking.CHANGED if sure else Tracking.UNSURE, _apart(difference), _apart(within), *typical)


def _apart(logarithm: float) -> float:
    """The Hellinger distance of two counters that rise evenly from the same start: of two uniform distributions."""
    return float(np.sqrt(max(0.0, 1.0 - np.exp(-logarithm / 2))))


def evenly(start: int, stop: int) -> slice:
    """As many of a run's readings as are looked at."""
    return slice(start, stop, max(1, (stop - start) // _LOOKED_AT))


def _tracks(side: Sequence[Track], correlation: float) -> bool:
    return float(np.median([_rank_correlation(track.values) for track in side])) > correlation


def _rank_correlation(values: Floats) -> float:
    """With the order of reading; of rising values, since only those count anything."""
    third = len(values) // 3
    if not values[:third].mean() < values[third:-third].mean() < values[-third:].mean():
        return 0.0
    distinct, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - counts / 2)[where]
    if len(distinct) < _FEWEST // 2:
        return 0.0
    return float(np.corrcoef(rank, np.arange(len(values)))[0, 1])


def _is_clock(tracks: Sequence[Track], settings: ValuesSettings) -> bool:
    slopes = []
    for track in tracks:
        time = (track.time - track.time[0]).astype(np.float64)
        time -= time.mean()
        values = track.values - track.values.mean()
        spread = float((time * time).sum())
        if spread <= 0:
            return False
        slope = float((time * values).sum()) / spread
        fit = slope * slope * spread / float((values * values).sum())
        if fit < settings.clock_fit:
            return False
        slopes.append(slope)
    mean = float(np.mean(slopes))
    if max(abs(slope / mean - 1) for slope in slopes) > settings.clock_slope:
        return False
    ticks = any(abs(mean / tick - 1) <= settings.clock_slope for tick in _TICKS_PER_NS)
    far = all(abs(float(track.values.min())) > _FAR * float(np.ptp(track.values)) for track in tracks)
    return ticks or far


def _gain(track: Track) -> float:
    low, high = np.quantile(track.values, (0.02, 0.98))
    return float(high - low) / track.units
