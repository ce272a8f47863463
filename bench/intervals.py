"""The two intervals that benchmarks print: of a paired ratio, and of a rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

_RESAMPLES = 4000
_WIDEST_RESOLVED = 0.01  # of the ratio; a wider interval is printed as unresolved


@dataclass(frozen=True)
class Ratio:
    """Cost with a tool over cost without, from runs taken in pairs."""

    median: float
    low: float
    high: float
    pairs: int

    @property
    def resolved(self) -> bool:
        return self.high - self.low <= _WIDEST_RESOLVED

    def __str__(self) -> str:
        shown = f"{100 * (self.median - 1):+.2f}% [{100 * (self.low - 1):+.2f}, {100 * (self.high - 1):+.2f}]"
        return shown if self.resolved else f"{shown} unresolved"


def paired_ratio(without: Sequence[float], with_tool: Sequence[float], seed: int = 1) -> Ratio:
    """Median of the pairs' ratios with its 95% bootstrap interval: one disturbed pair does not move it."""
    ratios = np.asarray(with_tool, dtype=float) / np.asarray(without, dtype=float)
    draws = np.random.default_rng(seed).integers(0, ratios.size, size=(_RESAMPLES, ratios.size))
    medians = np.median(ratios[draws], axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return Ratio(float(np.median(ratios)), float(low), float(high), int(ratios.size))


def rate_upper_bound(events: int, trials: int, confidence: float = 0.95) -> float:
    """Clopper-Pearson: the highest rate at which so few events still happen by chance (one-sided)."""
    if events >= trials:
        return 1.0
    return float(stats.beta.ppf(confidence, events + 1, trials - events))


def mean_upper_bound(shares: Sequence[float] | np.ndarray, confidence: float = 0.95) -> float:
    """Of the mean of numbers between 0 and 1 (one-sided).

    Of all that have this mean, zeros and ones vary most: what bounds their rate bounds this mean.
    """
    events, trials = float(np.sum(shares)), len(shares)
    return float(stats.beta.ppf(confidence, events + 1, trials - events)) if events < trials else 1.0
