"""A block permutation test: how often would blocks of readings, shuffled between the kinds, look this different?

Readings that follow each other depend on each other; blocks longer than that dependence do not. Exact where there are
few ways to shuffle, else sequential, with a fitted tail for what random shuffles never reach.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Floats
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.statistics import anderson_darling

# With no more arrangements than this all of them are tried.
_FEW_ARRANGEMENTS = 1000
_ROUNDING = 1e-9
# Products of so few rows stay below the size from which BLAS starts threads, whose coming and going costs more.
_ROWS_AT_ONCE = 20
# A fitted tail says "rare"; how rare beyond this is not worth believing.
_SMALLEST = 1e-15

Labels = npt.NDArray[np.float64]
# Kolmogorov-Smirnov at 5% with estimated parameters would be stricter; this only refuses what plainly misfits.
_MISFIT = 1.0
# The statistic is a sum of squares: its tail is exponential. A shorter one would claim impossible what is merely rare.
_SHORTEST_SHAPE, _LONGEST_SHAPE = 0.0, 0.5


def permutation_p(blocks: Floats, good: int, settings: ValuesSettings) -> float:
    """The chance of a statistic as large as observed; `blocks` are histograms, the first `good` of them good ones."""
    count = len(blocks)
    total = blocks.sum(axis=0)
    seen = total > 0
    blocks, total = blocks[:, seen], total[seen]
    observed = float(anderson_darling(blocks[:good].sum(axis=0, keepdims=True), total)[0])
    limit = observed * (1.0 - _ROUNDING)
    arrangements = math.comb(count, good)
    if arrangements <= _FEW_ARRANGEMENTS:
        statistics = anderson_darling(every_arrangement(count, good) @ blocks, total)
        return float(np.count_nonzero(statistics >= limit)) / arrangements
    found = np.zeros(0)
    for stage, permutations in enumerate(settings.permutation_stages):
        labels = shuffled(count, good, permutations - len(found), settings.seed + stage)
        found = np.concatenate((found, anderson_darling(_sums(labels, blocks), total)))
        reached = int(np.count_nonzero(found >= limit))
        if reached >= settings.enough_exceedances:
            return (reached + 1) / (len(found) + 1)
    return max(tail_probability(found, observed, settings), 1.0 / arrangements, _SMALLEST)


def _sums(labels: npt.NDArray[np.bool_], blocks: Floats) -> Floats:
    """Per row of labels the sum of the chosen blocks."""
    rows = len(labels) // _ROWS_AT_ONCE * _ROWS_AT_ONCE
    chosen = labels.astype(np.float64)
    few = chosen[:rows].reshape(-1, _ROWS_AT_ONCE, labels.shape[1])
    return np.concatenate((np.matmul(few, blocks).reshape(rows, -1), chosen[rows:] @ blocks))


@lru_cache(maxsize=32)
def every_arrangement(count: int, good: int) -> Labels:
    chosen = np.array(list(combinations(range(count), good)), np.int64).reshape(-1, good)
    labels = np.zeros((len(chosen), count))
    np.put_along_axis(labels, chosen, 1.0, axis=1)
    return labels


@lru_cache(maxsize=64)
def shuffled(count: int, good: int, permutations: int, seed: int) -> npt.NDArray[np.bool_]:
    """Rows in which `good` of `count` blocks are chosen at random."""
    keys = np.random.default_rng((seed, count, good)).random((permutations, count))
    last = np.partition(keys, good - 1, axis=1)[:, good - 1]
    chosen: npt.NDArray[np.bool_] = keys <= last[:, None]
    return chosen


def tail_probability(permuted: Floats, observed: float, settings: ValuesSettings) -> float:
    """The chance of `observed` or more, where at most a few of the permuted statistics reach it.

    A generalised Pareto distribution is fitted to the largest of them: Knijnenburg, Wessels, Reinders and Shmulevich,
    "Fewer permutations, more accurate P-values", 2009. The fit is by probability-weighted moments (Hosking and Wallis
    1987).
    """
    size = len(permuted)
    reached = int(np.count_nonzero(permuted >= observed))
    largest = np.sort(permuted)[::-1]
    points = min(settings.tail_points, size // 4)
    while points >= settings.tail_step:
        threshold = (largest[points - 1] + largest[points]) / 2
        beyond = largest[:points] - threshold
        if observed <= threshold or beyond[0] <= 0:
            break
        shape, scale = fit_pareto(beyond)
        if scale > 0 and _fits(beyond, shape, scale):
            return points / size * float(survival(np.array([observed - threshold]), shape, scale)[0])
        points -= settings.tail_step
    return (reached + 1) / (size + 1)


def fit_pareto(beyond: Floats) -> tuple[float, float]:
    """Shape (positive: heavy tail) and scale."""
    ascending = np.sort(beyond)
    size = len(ascending)
    weights = 1.0 - (np.arange(1, size + 1) - 0.35) / size
    mean, weighted = float(ascending.mean()), float((weights * ascending).mean())
    if mean <= 2 * weighted:
        return _SHORTEST_SHAPE, mean
    shape = min(_LONGEST_SHAPE, max(_SHORTEST_SHAPE, 2.0 - mean / (mean - 2 * weighted)))
    return shape, mean * (1.0 - shape)


def survival(beyond: Floats, shape: float, scale: float) -> Floats:
    if shape < 1e-9:
        result: Floats = np.exp(-beyond / scale)
    else:
        result = (1.0 + shape * beyond / scale) ** (-1.0 / shape)
    return result


def _fits(beyond: Floats, shape: float, scale: float) -> bool:
    ascending = np.sort(beyond)
    size = len(ascending)
    expected = 1.0 - survival(ascending, shape, scale)
    steps = np.arange(1, size + 1) / size
    distance = float(np.maximum(np.abs(steps - expected), np.abs(steps - 1 / size - expected)).max())
    return distance * float(np.sqrt(size)) <= _MISFIT
