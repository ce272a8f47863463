"""The variable-discounter of section 3.4.1: how unlike two distributions are, in three dimensions.

The text says that only shapes matter, not means; the test and the distance it names see means as well, as does this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Ints
from whyperf.engines.values.kinds import Dimension, ValueKind, ordered, steps
from whyperf.engines.values.paper.monitored import basic
from whyperf.engines.values.readings import Readings, run_lengths
from whyperf.engines.values.settings import ValuesPaperSettings
from whyperf.engines.values.statistics import Compare, compare_sorted, critical


@dataclass(frozen=True)
class Discount:
    """Of one variable: the lowest of its dimensions."""

    ratio: float
    dimension: Dimension
    anomalous: bool


def shallow(readings: Readings, settings: ValuesPaperSettings) -> Readings:
    """What virtual unwinding of the paper's depth would have read."""
    kept = readings.depth <= settings.unwind_depth
    if kept.all():
        return readings
    return Readings(
        readings.raw[kept],
        readings.sample[kept],
        readings.depth[kept],
        readings.frame[kept],
        readings.line[kept],
        readings.callee[kept],
        readings.time[kept],
        np.array([0, int(kept.sum())]),
    )


def dimensions(readings: Readings, kind: ValueKind) -> dict[Dimension, Ints]:
    """In the order of recording, whichever thread: the paper knows no threads."""
    raw = readings.raw
    costs = run_lengths(raw[1:] == raw[:-1]) if len(raw) else raw
    if not basic(kind):
        return {Dimension.DURATION: costs}
    everywhere = np.ones(max(0, len(raw) - 1), np.bool_)
    return {
        Dimension.VALUE: ordered(kind, raw),
        Dimension.DELTA: steps(kind, raw, everywhere),
        Dimension.DURATION: costs,
    }


def discount(
    good: Readings, bad: Readings, kind: ValueKind, settings: ValuesPaperSettings, merge: Compare | None = None
) -> Discount:
    if not len(good):
        # Section 3.5.1, Redis-10310, and 3.5.4, MDEV-16289: what is unique to the buggy execution gets no discount.
        return Discount(0.0, Dimension.VALUE if basic(kind) else Dimension.DURATION, True)
    here, there = dimensions(good, kind), dimensions(bad, kind)
    found = [in_dimension(here[one], there[one], one, settings, merge) for one in here]
    return min(found, key=lambda one: one.ratio)


def in_dimension(
    good: Ints, bad: Ints, dimension: Dimension, settings: ValuesPaperSettings, merge: Compare | None = None
) -> Discount:
    first, second = np.sort(good), np.sort(bad)
    compared = compare_sorted(first, second, distinct=settings.distinct_values, bins=settings.bins, merge=merge)
    if compared is None or compared.statistic <= critical(settings.level):
        return Discount(settings.default_discount, dimension, False)
    ratio = 1.0 - compared.distance
    return Discount(0.0 if ratio < settings.valid_discount else ratio, dimension, True)
