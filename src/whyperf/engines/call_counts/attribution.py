"""Divide the excess among parameters: integrate the cost's gradient on a path between two runs (Aumann-Shapley).

The cost of a unit of work is T = sum of a_f s_f with a = b + R'a. Along any path from the baseline's parameters to the
slow run's the integrals of dT/dp add up to the excess exactly. Ours has three legs:

1. What the slow run no longer has (a site that makes no call any more) goes to zero, at the baseline's costs.
2. What both have changes geometrically: a factor of ten counts the same wherever it begins.
3. What only the slow run has comes in, at the slow run's costs.

All at once would be shorter, but can diverge: if f called g in the baseline and g calls f in the slow run, halfway each
calls the other. On legs 1 and 3 every entry of R is at most the baseline's or the slow run's; on leg 2 the spectral
radius is log-convex (Kingman 1961). So recursion ends everywhere. Taken the other way round, all shares change their
signs and nothing else.

Calls within a circle of functions change such that the activations change evenly instead. A sort that calls itself
twice a call, 0.53 and 0.47 times in one run and 0.56 and 0.44 in the other, would else recurse far less halfway, and
everything that it calls would seem to matter little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.call_counts.call_graph import CallGraph, Floats, Ints
from whyperf.engines.call_counts.parameters import Parameters


@dataclass(frozen=True)
class BlameSettings:
    # Gauss-Legendre points a leg; doubled until the shares add up to the excess, and no longer change, as closely as
    # asked for.
    points: int = 8
    most_points: int = 512
    # Far below what sampling can tell, far above rounding.
    closeness: float = 1e-6


@dataclass(frozen=True, eq=False)
class Attribution:
    """Parts of the excess, in the unit of the costs. They add up to `excess` within the settings' closeness."""

    baseline: float
    slow: float
    calls: Floats  # each site: it calls more or less often per activation
    self_cost: Floats  # each function: one activation costs more or less in its own code
    outside: Floats  # each function: it is entered more or less often from outside

    @property
    def excess(self) -> float:
        return self.slow - self.baseline

    def apart_from(self, other: Attribution) -> float:
        """The largest difference of one share."""
        pairs = ((self.calls, other.calls), (self.self_cost, other.self_cost), (self.outside, other.outside))
        return max(float(np.abs(one - another).max(initial=0.0)) for one, another in pairs)

    @property
    def attributed(self) -> float:
        return float(self.calls.sum() + self.self_cost.sum() + self.outside.sum())


def attribute(
    graph: CallGraph, baseline: Parameters, slow: Parameters, settings: BlameSettings | None = None
) -> Attribution:
    """Divide the difference of two runs' costs among their parameters."""
    settings = settings or BlameSettings()
    ends = _cost(graph, baseline), _cost(graph, slow)
    points, legs = settings.points, _legs(baseline, slow)
    found = Attribution(*ends, *_integrated(graph, legs, points))
    while points < settings.most_points:
        before, points = found, 2 * points
        found = Attribution(*ends, *_integrated(graph, legs, points))
        error = max(abs(found.attributed - found.excess), found.apart_from(before))
        if error <= settings.closeness * max(abs(ends[0]), abs(ends[1])):
            break
    return found


def _cost(graph: CallGraph, given: Parameters) -> float:
    activations = graph.activations(given.calls[:, None], given.outside[:, None])[:, 0]
    return float(activations @ given.self_cost)


_Ends = tuple[Floats, Floats]  # of one leg


def _legs(baseline: Parameters, slow: Parameters) -> list[tuple[_Ends, _Ends, _Ends]]:
    ways = [
        _way(before, after)
        for before, after in (
            (baseline.calls, slow.calls),
            (baseline.self_cost, slow.self_cost),
            (baseline.outside, slow.outside),
        )
    ]
    return [(ways[0][leg], ways[1][leg], ways[2][leg]) for leg in range(3)]


def _way(before: Floats, after: Floats) -> tuple[_Ends, _Ends, _Ends]:
    """Where one kind of parameter is at both ends of each leg."""
    common_before, common_after = np.where(after > 0, before, 0.0), np.where(before > 0, after, 0.0)
    return (before, common_before), (common_before, common_after), (common_after, after)


def _integrated(graph: CallGraph, legs: list[tuple[_Ends, _Ends, _Ends]], points: int) -> tuple[Floats, Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    at, weights = (nodes + 1) / 2, weights / 2
    parts: list[Floats] = [np.zeros(len(legs[0][kind][0])) for kind in range(3)]
    for leg in legs:
        if all(np.array_equal(start, end) for start, end in leg):
            continue
        (calls, d_calls), (own, d_own), (outside, d_outside) = (_between(*ends, at) for ends in leg)
        for circle in graph.circles:
            calls[circle], d_calls[circle] = _evenly(graph, leg, circle, at)
        activations = graph.activations(calls, outside)
        costs = graph.total_costs(calls, own)
        parts[0] += (activations[graph.caller] * costs[graph.callee] * d_calls) @ weights
        parts[1] += (activations * d_own) @ weights
        parts[2] += (costs * d_outside) @ weights
    return parts[0], parts[1], parts[2]


def _evenly(graph: CallGraph, leg: tuple[_Ends, _Ends, _Ends], circle: Ints, at: Floats) -> tuple[Floats, Floats]:
    """Calls per activation within a circle, and their slopes, where calls and activations change linearly."""
    (before, after), _, outside = leg
    callers = graph.caller[circle]
    start, end = (
        graph.activations(calls[:, None], entered[:, None])[callers]
        for calls, entered in zip((before, after), outside, strict=True)
    )
    nobody = (start <= 0) & (end <= 0)
    start, end = np.where(nobody, 1.0, start), np.where(nobody, 1.0, end)
    activations = start * (1 - at) + end * at
    change = (after - before)[circle][:, None]
    value = before[circle][:, None] + change * (end * at / activations)
    return value, change * (start * end / activations**2)


def _between(start: Floats, end: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at points of the way, a column each: geometric where both ends are positive, else linear."""
    both = (start > 0) & (end > 0)
    ratio = np.log(np.divide(end, start, out=np.ones(len(start)), where=both))
    value = np.where(
        both[:, None],
        start[:, None] * np.exp(ratio[:, None] * at),
        start[:, None] + (end - start)[:, None] * at,
    )
    slope = np.where(both[:, None], value * ratio[:, None], (end - start)[:, None])
    return value, slope
