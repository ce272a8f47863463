"""Bytes that samples of allocations stand for: a figure where there are enough, else a bound.

An allocation is sampled once in half a megabyte or so. One sample stands for all of that, whatever is really there, and
a peak is the highest of many such estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from whyperf.engines.holdings import Booleans, Holdings
from whyperf.engines.quantities import below, in_bytes

_ENOUGH = 5  # samples: they vary by 45%
# Samples of what is there on average: none is taken in one of 20 cases, e^-3 = 5%.
_NONE_SEEN = 3.0


@dataclass(frozen=True)
class SampledBytes:
    """The mean of a side's runs."""

    mean: float
    variance: float  # of one run's, by which allocations happened to be sampled
    one_sample: float  # bytes that a sample of small allocations stands for
    runs: int
    replaced: float = 1.0  # how often all of it was, where it is the highest of the amounts over time

    @property
    def is_measured(self) -> bool:
        """Not if the error is half of it, nor if chance alone may reach it: `Holdings.least_peak_bytes`."""
        least = max(_ENOUGH, 2 * log(max(self.replaced, 1.0)))
        return self.mean > 0 and self.mean**2 >= least * self.variance

    @property
    def most(self) -> float:
        """What it is below in 19 of 20 cases, or more."""
        return self.mean + 2 * sqrt(self.variance / self.runs) + _NONE_SEEN * self.one_sample / self.runs

    def __str__(self) -> str:
        return in_bytes(self.mean) if self.is_measured else below(self.most, in_bytes)


@dataclass(frozen=True)
class SampledPair:
    good: SampledBytes
    bad: SampledBytes


def at_peak(side: Sequence[Holdings]) -> SampledBytes:
    mean = sum(one.peak_bytes for one in side) / len(side)
    allocated = sum(float(one.weight[one.in_window].sum()) for one in side) / len(side)
    variance = sum(one.peak_variance for one in side) / len(side)
    return SampledBytes(mean, variance, largest_sample(side), len(side), allocated / max(mean, 1.0))


def of_rows(side: Sequence[Holdings], rows: Sequence[Booleans]) -> SampledBytes:
    """Of these allocations of each run."""
    mean = sum(float(one.weight[chosen].sum()) for one, chosen in zip(side, rows, strict=True)) / len(side)
    squares = sum(float(one.squares[chosen].sum()) for one, chosen in zip(side, rows, strict=True)) / len(side)
    return SampledBytes(mean, squares, largest_sample(side), len(side))


def in_use(side: Sequence[Holdings]) -> SampledBytes:
    """On average over time."""
    mean = sum(one.mean_bytes for one in side) / len(side)
    variance = sum(float((one.squares * one.lived_part**2).sum()) for one in side) / len(side)
    return SampledBytes(mean, variance, largest_sample(side), len(side))


def largest_sample(side: Sequence[Holdings]) -> float:
    """The interval between samples may grow while a program runs: each sample says what it stands for."""
    return max(float(np.max(one.weight * one.unsure, initial=float(one.interval))) for one in side)
