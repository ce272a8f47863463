"""Two-sample statistics over sorted values or counts, with ties: Anderson-Darling, Hellinger, Benjamini-Hochberg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Floats, Ints

# Scholz and Stephens 1987, table 1, for two samples: critical values b0 + b1 + b2 at these levels.
_LEVELS = (0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001)
_CRITICAL = (0.325, 1.226, 1.961, 2.718, 3.752, 4.592, 6.546)

# Beyond so many readings the moments have converged to eight digits.
_LARGEST_TABLE = 1 << 21


@dataclass(frozen=True)
class DistributionComparison:
    """Anderson-Darling's statistic standardised, and the Hellinger distance."""

    statistic: float
    distance: float


Compare = Callable[[Ints, Ints, int, int], tuple[float, float]]


def compare_sorted(
    good: Ints, bad: Ints, *, distinct: int, bins: int, merge: Compare | None = None
) -> DistributionComparison | None:
    """None where a test has no meaning: no reading, or one value throughout."""
    if not len(good) or not len(bad) or (good[0] == good[-1] == bad[0] == bad[-1]):
        return None
    statistic, distance = (merge or merge_sorted)(good, bad, distinct, bins)
    return DistributionComparison(standardised(statistic, len(good), len(bad)), distance)


def merge_sorted(good: Ints, bad: Ints, distinct: int, bins: int) -> tuple[float, float]:
    """The raw Anderson-Darling statistic and the distance, over distinct values or over bins of equal share."""
    pooled = np.sort(np.concatenate((good, bad)), kind="stable")  # two sorted runs: one merge
    values = pooled[np.flatnonzero(np.append(pooled[1:] != pooled[:-1], True))]
    here, there = (np.searchsorted(side, values, "right") for side in (good, bad))
    here[1:] -= here[:-1].copy()
    there[1:] -= there[:-1].copy()
    statistic = float(anderson_darling(here[None, :].astype(np.float64), (here + there).astype(np.float64))[0])
    if len(values) > distinct:
        ends = np.cumsum(here + there)
        full = ends * bins // ends[-1]  # bins that are full after each value
        closes = np.flatnonzero(full[:-1] > np.concatenate(([0], full[:-2])))
        starts = np.concatenate(([0], closes + 1))
        here, there = np.add.reduceat(here, starts), np.add.reduceat(there, starts)
    return statistic, hellinger(here, there)


def anderson_darling(group: Floats, total: Floats) -> Floats:
    """The two-sample statistic with midranks for ties (Scholz and Stephens 1987, formula 7), one per row of `group`.

    Columns are distinct values (or bins) in order; `total` holds both samples' counts.
    """
    size = total.sum()
    first = group.sum(axis=1)
    rank = np.cumsum(total) - total / 2
    below = np.cumsum(group, axis=1) - group / 2
    spread = rank * (size - rank) - size * total / 4
    weight = np.divide(total / size, spread, out=np.zeros_like(spread), where=spread > 0)
    squares = ((size * below - rank * first[:, None]) ** 2 * weight).sum(axis=1)
    second = size - first
    scale = np.zeros_like(first)
    np.divide(size, first * second, out=scale, where=(first > 0) & (second > 0))
    result: Floats = squares * scale * (size - 1) / size
    return result


def hellinger(here: npt.ArrayLike, there: npt.ArrayLike) -> float:
    """Between two histograms over the same bins: 0 where they are alike, 1 where they share nothing."""
    first, second = np.asarray(here, np.float64), np.asarray(there, np.float64)
    whole = first.sum() * second.sum()
    if whole <= 0:
        return 0.0
    overlap = np.sqrt(first * second).sum() / np.sqrt(whole)
    return float(np.sqrt(max(0.0, 1.0 - overlap)))


def standardised(statistic: float, good: int, bad: int) -> float:
    """Minus its mean, divided by its standard deviation (Scholz and Stephens 1987, formula 4)."""
    size, inverse = good + bad, 1.0 / good + 1.0 / bad
    if size < 4:
        return 0.0
    h, g = _moments(size)
    n = float(size)
    a = (4 * g - 6) + (10 - 6 * g) * inverse
    b = (2 * g - 4) * 4 + 8 * h * 2 + (2 * g - 14 * h - 4) * inverse - 8 * h + 4 * g - 6
    c = (6 * h + 2 * g - 2) * 4 + (4 * h - 4 * g + 6) * 2 + (2 * h - 6) * inverse + 4 * h
    d = (2 * h + 6) * 4 - 4 * h * 2
    variance = (a * n**3 + b * n**2 + c * n + d) / ((n - 1) * (n - 2) * (n - 3))
    return (statistic - 1) / float(np.sqrt(variance))


class _Moments:
    """The sums h and g of the variance for every sample size so far asked for: g grows by a recurrence."""

    def __init__(self) -> None:
        self.h: Floats = np.zeros(0)
        self.g: Floats = np.zeros(0)

    def grow(self, size: int) -> None:
        count = np.arange(1, size + 1, dtype=np.float64)
        self.h = np.concatenate(([0.0, 0.0], np.cumsum(1 / count)))[: size + 2]
        n = count[2:]
        before = self.h[3 : size + 1]
        step = (before - 1) / n - 2 * (before - 1) / (n + 1) + (before + 1 / n - 1) / n
        self.g = np.zeros(size + 2)
        self.g[3] = 0.25
        self.g[4 : size + 2] = 0.25 + np.cumsum(step)


_table = _Moments()


def _moments(size: int) -> tuple[float, float]:
    size = min(size, _LARGEST_TABLE)
    if size >= len(_table.h):
        _table.grow(min(_LARGEST_TABLE, max(4096, 2 * size)))
    return float(_table.h[size]), float(_table.g[size])


def critical(level: float) -> float:
    """The standardised statistic above which two samples differ at `level`."""
    return _CRITICAL[_LEVELS.index(level)]


def discoveries(p: Floats, rate: float) -> npt.NDArray[np.bool_]:
    """Benjamini and Hochberg 1995: which of the tests to believe so that a share `rate` of them is wrong."""
    size = len(p)
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= rate * np.arange(1, size + 1) / max(size, 1))
    believed = np.zeros(size, np.bool_)
    if len(passed):
        believed[order[: passed[-1] + 1]] = True
    return believed
