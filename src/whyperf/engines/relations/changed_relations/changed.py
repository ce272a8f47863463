"""Whether a relation changed: two distributions of counts, compared by Kolmogorov-Smirnov (Perspect, 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.run import Floats, Ints


@dataclass(frozen=True, eq=False)
class Counts:
    """A distribution: how often each value was seen. Values are sorted and unique."""

    value: Ints
    times: Ints

    @property
    def events(self) -> int:
        return int(self.times.sum())

    @property
    def total(self) -> float:
        return float((self.value * self.times).sum())

    @property
    def mean(self) -> float:
        return self.total / self.events if self.events else 0.0

    def quantiles(self, parts: Sequence[float]) -> list[int]:
        """The smallest values that at least these parts of the events do not exceed."""
        upto = np.cumsum(self.times)
        if not len(upto):
            return []
        return [int(self.value[int(np.searchsorted(upto, part * upto[-1] - 1e-9))]) for part in parts]


def distance(good: Counts, bad: Counts) -> float:
    """The Kolmogorov-Smirnov statistic: the largest distance between the two cumulative distributions."""
    values = np.union1d(good.value, bad.value)
    return float(np.abs(_cumulative(good, values) - _cumulative(bad, values)).max())


def has_changed(good: Counts, bad: Counts, settings: RelationsSettings) -> bool:
    """Statistically and materially."""
    if not good.events or not bad.events:
        return False
    larger = max(abs(good.mean), abs(bad.mean))
    if abs(good.mean - bad.mean) < settings.means_apart * larger or larger == 0:
        return False
    if min(good.events, bad.events) < settings.few_events:
        return bool(good.value[-1] < bad.value[0] or bad.value[-1] < good.value[0])
    return distance(good, bad) > critical(good.events, bad.events, settings)


def share_changed(good: float, bad: float, good_events: int, bad_events: int, settings: RelationsSettings) -> bool:
    """The same for a property that each event has or has not."""
    if not good_events or not bad_events:
        return False
    apart = abs(good - bad)
    if min(good_events, bad_events) < settings.few_events:
        return apart == 1.0
    return apart >= max(settings.means_apart, critical(good_events, bad_events, settings))


def critical(good_events: int, bad_events: int, settings: RelationsSettings) -> float:
    return settings.critical_distance * float(np.sqrt((good_events + bad_events) / (good_events * bad_events)))


def _cumulative(counts: Counts, values: Ints) -> Floats:
    upto = np.concatenate([[0], np.cumsum(counts.times)])
    below: Floats = upto[np.searchsorted(counts.value, values, side="right")] / upto[-1]
    return below
