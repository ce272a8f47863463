"""Why what a function holds at the peak grew: more objects, larger ones, or fewer of them freed by then."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import log2

import numpy as np

from whyperf.engines.memory.contexts import Contexts, Placed, allocated, kept, live, objects, only
from whyperf.engines.run import Floats, Ints


class Reason(Enum):
    MORE_OBJECTS = "allocates more often"
    LARGER = "allocates more each time"
    NOT_FREED = "is no longer freed"
    NEW = "new"


@dataclass(frozen=True)
class Amounts:
    """Of a run, the mean of its side."""

    objects: float
    allocated: float  # bytes
    live: float  # bytes at the peak
    kept: float  # bytes that were never freed

    @property
    def each(self) -> float:
        return self.allocated / self.objects if self.objects else 0.0

    @property
    def held_part(self) -> float:
        """Of what was allocated, what was there at the peak."""
        return min(1.0, self.live / self.allocated) if self.allocated else 0.0


@dataclass(frozen=True, eq=False)
class Change:
    good: Amounts
    bad: Amounts
    good_runs: tuple[float, ...]  # bytes at the peak
    bad_runs: tuple[float, ...]
    error: float  # standard error of the difference
    reasons: dict[Reason, float]  # in bits: of how many times as much is held

    @property
    def excess(self) -> float:
        return self.bad.live - self.good.live

    @property
    def reason(self) -> Reason:
        return max(self.reasons, key=lambda one: self.reasons[one])


def change_of(contexts: Contexts, nodes: Ints) -> Change:
    """What the allocations made in these nodes come to in good and bad runs."""

    def amounts(side: tuple[Placed, ...]) -> tuple[Amounts, tuple[float, ...], float]:
        inside = {one: np.isin(one.node, nodes) for one in side}
        rows = [
            [float((amount(one) * inside[one]).sum()) for one in side] for amount in (objects, allocated, live, kept)
        ]
        squares = [float((live(one) ** 2 * _unsure(one) * inside[one]).sum()) for one in side]
        mean = [sum(row) / len(side) for row in rows]
        spread = float(np.var(rows[2], ddof=1)) / len(side) if len(side) > 1 else 0.0
        return Amounts(*mean), tuple(rows[2]), max(sum(squares) / len(side) ** 2, spread)

    good, good_runs, good_variance = amounts(contexts.good)
    bad, bad_runs, bad_variance = amounts(contexts.bad)
    one_sample = _largest_sample(contexts)
    error = float(np.sqrt(good_variance + bad_variance)) or one_sample
    return Change(good, bad, good_runs, bad_runs, error, _reasons(good, bad, one_sample))


def _unsure(one: Placed) -> Floats:
    """The chance that an allocation of this size is not sampled: large ones always are."""
    unsure: Floats = np.exp(-one.held.size / max(one.run.manifest.sampling.memory_interval, 1))
    return unsure


def _largest_sample(contexts: Contexts) -> float:
    """What one sample more of small objects would add."""
    return float(max(one.run.manifest.sampling.memory_interval for one in (*contexts.good, *contexts.bad)))


def _reasons(good: Amounts, bad: Amounts, one_sample: float) -> dict[Reason, float]:
    """live = objects × bytes of each × part held: each factor's logarithm adds up to that of the whole."""
    if good.allocated < one_sample / 2:
        return {Reason.NEW: log2(1.0 + bad.live / one_sample)}
    least = one_sample / (4 * max(good.allocated, bad.allocated))  # below what a single sample tells
    return {
        Reason.MORE_OBJECTS: _bits(good.objects, bad.objects),
        Reason.LARGER: _bits(good.each, bad.each),
        Reason.NOT_FREED: _bits(max(good.held_part, least), max(bad.held_part, least)),
    }


def _bits(good: float, bad: float) -> float:
    return log2(bad / good) if good > 0 and bad > 0 else 0.0


def freed_in(contexts: Contexts, side: tuple[Placed, ...], nodes: Ints) -> Floats:
    """By node, how many bytes of what was allocated in `nodes` were freed there: the mean of runs."""
    chosen = only(lambda one: np.isin(one.node, nodes), allocated)
    rows = contexts.by_freeing_node(side, chosen)
    mean: Floats = rows.mean(axis=0)
    return mean
