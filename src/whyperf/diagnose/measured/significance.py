"""Is a measure really larger in the bad runs? Three conditions, so that noise seldom passes all of them.

1. Complete separation: every bad run above every good run. If both kinds behave the same this happens in 1 of
   C(n+m, n) orders: 1 of 20 for three and three.
2. The excess exceeds the spread between runs of the same kind: Student's t, one-sided, 1%. Or any bad run exceeds any
   good one by what would do if they were the only ones, of two and two by that twice over: more runs that say the same
   are no reason to doubt it, however much they differ among themselves.
3. The excess exceeds a floor, below which nobody should act on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import sqrt

from whyperf.diagnose.settings import Floors
from whyperf.engines.student_t import student_99


@dataclass(frozen=True)
class Measure:
    """One figure of every run, per unit of work."""

    name: str
    good: tuple[float, ...]
    bad: tuple[float, ...]

    @property
    def good_mean(self) -> float:
        return sum(self.good) / len(self.good)

    @property
    def bad_mean(self) -> float:
        return sum(self.bad) / len(self.bad)

    @property
    def excess(self) -> float:
        return self.bad_mean - self.good_mean

    @property
    def relative(self) -> float:
        """Excess in units of the good mean; infinite when the good runs used nothing."""
        if self.good_mean > 0:
            return self.excess / self.good_mean
        return float("inf") if self.excess > 0 else 0.0

    @property
    def single(self) -> bool:
        """A kind with one run: its spread is unknown."""
        return min(len(self.good), len(self.bad)) < 2

    def swapped(self) -> Measure:
        return Measure(self.name, self.bad, self.good)


class Direction(Enum):
    GREW = "grew"
    SHRANK = "shrank"
    SAME = "same"
    UNCLEAR = "unclear"  # large enough to matter, too small for the spread


@dataclass(frozen=True)
class Judgement:
    change: Direction
    spread: float  # pooled standard deviation between runs of the same kind
    detectable: float  # smallest relative excess that these runs could have shown


def judge(measure: Measure, floors: Floors) -> Judgement:
    spread = pooled_spread(measure)
    if _grew(measure, floors, spread):
        change = Direction.GREW
    elif _grew(measure.swapped(), floors, spread):
        change = Direction.SHRANK
    elif measure.relative >= floors.relative:
        change = Direction.UNCLEAR
    else:
        change = Direction.SAME
    return Judgement(change, spread, _detectable(measure, floors, spread))


def runs_needed(measure: Measure, floors: Floors, usual: int, most: int) -> int | None:
    """Runs of each kind with which the present excess would exceed the present spread; None if too many."""
    if measure.single:
        return usual
    spread = pooled_spread(measure)
    for runs in range(max(len(measure.good), len(measure.bad)) + 1, most + 1):
        if student_99(2 * runs - 2) * spread * sqrt(2 / runs) < measure.excess >= floors.relative * measure.good_mean:
            return runs
    return None


def pooled_spread(measure: Measure) -> float:
    squares, freedom = 0.0, 0
    for values in (measure.good, measure.bad):
        mean = sum(values) / len(values)
        squares += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return sqrt(squares / freedom) if freedom else 0.0


def _grew(measure: Measure, floors: Floors, spread: float) -> bool:
    least, most = min(measure.bad), max(measure.good)
    if least <= most:
        return False
    if not measure.single and least >= (1.0 + floors.single_relative) ** (2 if _few(measure) else 1) * most:
        return True
    return measure.excess > _needed(measure, spread) and measure.relative >= _floor(measure, floors)


def _few(measure: Measure) -> bool:
    """The spread of two and two is hardly known, and in one of six comparisons they are separate by luck."""
    return min(len(measure.good), len(measure.bad)) < 3


def _needed(measure: Measure, spread: float) -> float:
    """Excess that the spread between runs alone would reach in one of a hundred comparisons."""
    if measure.single:
        return 3.0 * spread  # the spread of the other kind, where it has several runs; the floor does the rest
    good, bad = len(measure.good), len(measure.bad)
    return student_99(good + bad - 2) * spread * sqrt(1 / good + 1 / bad)


def _floor(measure: Measure, floors: Floors) -> float:
    return floors.single_relative if measure.single else floors.relative


def _detectable(measure: Measure, floors: Floors, spread: float) -> float:
    by_spread = _needed(measure, spread) / measure.good_mean if measure.good_mean > 0 else 0.0
    return max(_floor(measure, floors), by_spread)
