"""Probabilities beyond what permutations reach: a generalised Pareto distribution fitted to the largest of them.

Knijnenburg, Wessels, Reinders and Shmulevich, "Fewer permutations, more accurate P-values", 2009. The fit is by
probability-weighted moments (Hosking and Wallis 1987).
"""

from __future__ import annotations

import numpy as np

from whyperf.engines.run import Floats
from whyperf.engines.values.settings import ValuesSettings

# Kolmogorov-Smirnov at 5% with estimated parameters would be stricter; this only refuses what plainly misfits.
_MISFIT = 1.0
# The statistic is a sum of squares: its tail is exponential. A shorter one would claim impossible what is merely rare.
_SHORTEST_SHAPE, _LONGEST_SHAPE = 0.0, 0.5


def tail_probability(permuted: Floats, observed: float, settings: ValuesSettings) -> float:
    """The chance of `observed` or more, where at most a few of the permuted statistics reach it."""
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
