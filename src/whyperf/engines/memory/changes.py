"""Why what a function holds at the peak grew: more objects, larger ones, or fewer of them freed by then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from math import log2

import numpy as np

from whyperf.engines.memory.contexts import (
    MemoryContexts,
    PlacedHoldings,
    allocated,
    kept,
    live,
    objects,
    only,
    touched,
)
from whyperf.engines.run import Floats, Ints
from whyperf.engines.sampled_bytes import SampledBytes, of_rows

Amount = Callable[[PlacedHoldings], Floats]


class GrowthReason(Enum):
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
    touched: float  # bytes at the peak that were ever touched
    at_peak: SampledBytes  # `live`, with how well it is known
    in_all: SampledBytes  # `allocated`

    @property
    def touched_part(self) -> float:
        return min(1.0, self.touched / self.live) if self.live else 1.0

    @property
    def each(self) -> float:
        return self.allocated / self.objects if self.objects else 0.0

    @property
    def held_part(self) -> float:
        """Of what was allocated, what was there at the peak."""
        return min(1.0, self.live / self.allocated) if self.allocated else 0.0

    @property
    def most_held_part(self) -> float:
        """The same at most, where few samples were there."""
        return min(1.0, self.at_peak.most / self.allocated) if self.allocated else 1.0


@dataclass(frozen=True, eq=False)
class MemoryChange:
    good: Amounts
    bad: Amounts
    good_runs: tuple[float, ...]  # bytes of what is compared: at the peak, or allocated
    bad_runs: tuple[float, ...]
    error: float  # standard error of the difference
    reasons: dict[GrowthReason, float]  # in bits: of how many times as much is held

    @property
    def excess(self) -> float:
        return sum(self.bad_runs) / len(self.bad_runs) - sum(self.good_runs) / len(self.good_runs)

    @property
    def untouched_excess(self) -> float:
        """Bytes at the peak that nobody ever touched."""
        return (self.bad.live - self.bad.touched) - (self.good.live - self.good.touched)

    @property
    def reason(self) -> GrowthReason:
        return max(self.reasons, key=lambda one: self.reasons[one])


def change_of(contexts: MemoryContexts, nodes: Ints, amount: Amount = live) -> MemoryChange:
    """What the allocations made in these nodes come to in good and bad runs, compared by `amount`."""

    def amounts(side: tuple[PlacedHoldings, ...]) -> tuple[Amounts, tuple[float, ...], float]:
        inside = {one: np.isin(one.node, nodes) for one in side}

        def by_run(what: Amount) -> list[float]:
            return [float((what(one) * inside[one]).sum()) for one in side]

        number, ever, there, never_freed, used = (
            sum(by_run(what)) / len(side) for what in (objects, allocated, live, kept, touched)
        )
        compared = by_run(amount)
        squares = [float((amount(one) ** 2 * one.held.unsure * inside[one]).sum()) for one in side]
        spread = float(np.var(compared, ddof=1)) / len(side) if len(side) > 1 else 0.0
        held = [one.held for one in side]
        in_all = of_rows(held, [inside[one] & one.held.in_window for one in side])
        replaced = ever / max(there, 1.0)
        at_peak = replace(of_rows(held, [inside[one] & one.held.at_peak for one in side]), replaced=replaced)
        mean = Amounts(number, ever, there, never_freed, used, at_peak, in_all)
        return mean, tuple(compared), max(sum(squares) / len(side) ** 2, spread)

    good, good_runs, good_variance = amounts(contexts.good)
    bad, bad_runs, bad_variance = amounts(contexts.bad)
    one_sample = _largest_sample(contexts)
    error = float(np.sqrt(good_variance + bad_variance)) or one_sample
    return MemoryChange(good, bad, good_runs, bad_runs, error, _reasons(good, bad, one_sample))


def _largest_sample(contexts: MemoryContexts) -> float:
    """What one sample more of small objects would add."""
    return float(max(one.held.interval for one in (*contexts.good, *contexts.bad)))


def _reasons(good: Amounts, bad: Amounts, one_sample: float) -> dict[GrowthReason, float]:
    """live = objects × bytes of each × part held: each factor's logarithm adds up to that of the whole."""
    if good.allocated < one_sample / 2:
        return {GrowthReason.NEW: log2(1.0 + bad.live / one_sample)}
    least = one_sample / (4 * max(good.allocated, bad.allocated))  # below what a single sample tells
    return {
        GrowthReason.MORE_OBJECTS: _bits(good.objects, bad.objects),
        GrowthReason.LARGER: _bits(good.each, bad.each),
        GrowthReason.NOT_FREED: _bits(max(good.held_part, least), max(bad.held_part, least)),
    }


def _bits(good: float, bad: float) -> float:
    return log2(bad / good) if good > 0 and bad > 0 else 0.0


def freed_in(contexts: MemoryContexts, side: tuple[PlacedHoldings, ...], nodes: Ints) -> Floats:
    """By node, how many bytes of what was allocated in `nodes` were freed there: the mean of runs."""
    chosen = only(lambda one: np.isin(one.node, nodes), allocated)
    rows = contexts.by_freeing_node(side, chosen)
    mean: Floats = rows.mean(axis=0)
    return mean
