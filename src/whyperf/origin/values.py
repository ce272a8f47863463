"""The values of one place in a good and a bad run, compared as distributions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

UInt64s = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]

POINTER = 1 << 64
"""In place of every address: where something lies says nothing, whether it lies anywhere does."""
_LOWEST_POINTER, _HIGHEST_POINTER = 1 << 40, 1 << 48
_STEADY_BONUS = 0.25
"""Of two places that differ as much, the one with the same value each time says more: a bound rather than a counter."""
DIFFERS = 0.1
"""Share of the values that must be others before two runs of unequal length are said to differ."""
_DIFFERS_BY_FAR = 0.5
"""The same where only values of other times differ."""
_COUNTED = 2000
"""How often a place is passed before it is left alone now and then: from then on the how manieth time is not known."""
_ENOUGH = 32
"""Values that both runs had the same time."""
_DIFFERS_EXACTLY = 0.002
"""The same for two runs in which every value is known, and equally many."""
_GATHERED = 4.0
"""How many times as often two hits are of the same place before a run is said to come back to few places."""
_LESS_THAN_VALUES = 0.9
"""What places say, beside values that differ."""
FEW = 3
"""So many different values are listed, more are a range."""
MOSTLY = 0.9
"""Share of the most common value from which on it stands for all."""
_MOST = 0.5
_MODES = 16
"""Numbers below are modes or switches, of which none is more than another."""


@dataclass(frozen=True, eq=False)
class Sample:
    """What one place held in one run."""

    values: UInt64s
    hits: UInt64s
    """The how manieth time each was."""
    total: int
    """How often the place was passed; a lower bound where not `complete`."""
    complete: bool
    is_text: bool = False
    """The first bytes of texts, not numbers."""
    is_float: bool = False
    """Of a register for floating-point numbers, which may hold whole ones as well."""

    @property
    def is_range(self) -> bool:
        """Whether it is shown as a range of numbers."""
        histogram = self.histogram
        is_one = bool(histogram) and max(histogram.values()) >= MOSTLY * histogram.total()
        return len(histogram) > FEW and not is_one

    @cached_property
    def histogram(self) -> Counter[int]:
        values, counts = np.unique(self.values, return_counts=True)
        found: Counter[int] = Counter()
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            found[value if self.is_text else as_key(value)] += count
        return found


EMPTY = Sample(np.zeros(0, np.uint64), np.zeros(0, np.uint64), 0, True)


def as_key(value: int) -> int:
    return POINTER if _LOWEST_POINTER <= value < _HIGHEST_POINTER else value


@dataclass(frozen=True, eq=False)
class ComparedValues:
    good: Sample
    bad: Sample
    size: int = 8

    @cached_property
    def distance(self) -> float:
        """Share of the values that would have to change: 0 alike, 1 nothing in common. Where not all values are known,
        those count first that both runs had the same time, since what is left may be of other times."""
        whole = _apart(self.good.histogram, self.bad.histogram)
        if self.hits_agree or not self.is_on_both_sides:
            return whole
        common = np.intersect1d(self.good.hits, self.bad.hits)
        good, bad = (_alone(one, common[common < _COUNTED]) for one in (self.good, self.bad))
        if len(good.values) < _ENOUGH:
            return whole
        together, later = _apart(good.histogram, bad.histogram), self._distance_later(whole)
        return together if together > DIFFERS or later < _DIFFERS_BY_FAR else later

    def _distance_later(self, otherwise: float) -> float:
        """Of values from when hits are no longer all seen: both runs may begin alike."""
        good, bad = (_alone(one, one.hits[one.hits >= _COUNTED]) for one in (self.good, self.bad))
        if min(len(good.values), len(bad.values)) < _ENOUGH:
            return otherwise
        return _apart(good.histogram, bad.histogram)

    @property
    def apart_as_numbers(self) -> float:
        """The distance where addresses count as numbers: of use where one is subtracted from another."""
        good, bad = (Counter(one.values.tolist()) for one in (self.good, self.bad))
        return _apart(good, bad) if self.is_on_both_sides else 0.0

    @property
    def differs(self) -> bool:
        return self.distance > (_DIFFERS_EXACTLY if self.hits_agree else DIFFERS)

    @property
    def is_on_both_sides(self) -> bool:
        return bool(len(self.good.values)) and bool(len(self.bad.values))

    @property
    def is_known(self) -> bool:
        """Whether each side says what it held, or that it was never there."""
        return all(len(one.values) or (one.complete and not one.total) for one in (self.good, self.bad))

    @property
    def counts_differ(self) -> bool:
        """Whether one run certainly passed the place more often: of two lower bounds, none says which."""
        good, bad = self.good, self.bad
        if good.complete and bad.complete:
            return good.total != bad.total
        return (good.complete and bad.total > good.total) or (bad.complete and good.total > bad.total)

    @cached_property
    def may_be_alike(self) -> bool:
        """Whether values are known in part only, and are ranges that mostly overlap: which of them were seen is chance,
        and mostly the first ones are. That a few come again and again is not."""
        sides = (self.good, self.bad)
        if self.bad.is_text or self.gathers or not all(one.is_range for one in sides):
            return False
        if self.are_all_seen:
            return False
        good, bad = (numbers_of(one, self.size) for one in sides)
        return _overlap(good, bad) > _MOST

    @property
    def are_all_seen(self) -> bool:
        """Whether the value of every time is known."""
        return all(one.complete and len(one.values) == one.total for one in (self.good, self.bad))

    @property
    def are_the_same(self) -> bool:
        """Whether that is certain: values that were not seen may be others."""
        return self.are_all_seen and _apart(self.good.histogram, self.bad.histogram) == 0

    @property
    def are_complete(self) -> bool:
        """Whether it is known how often each run passed the place."""
        return self.good.complete and self.bad.complete

    @property
    def hits_agree(self) -> bool:
        """Whether the n-th time in one run is the n-th time in the other, as far as counts tell."""
        good, bad = self.good, self.bad
        return good.complete and bad.complete and good.total == bad.total and len(good.values) == len(bad.values)

    @property
    def steady(self) -> float:
        """How often each run has its most common value."""
        modes = [
            max(one.histogram.values()) / one.histogram.total() for one in (self.good, self.bad) if len(one.values)
        ]
        return min(modes, default=0.0)

    @property
    def rank(self) -> float:
        if self.differs:
            return self.distance + _STEADY_BONUS * self.steady
        return _LESS_THAN_VALUES * (1 - 1 / self.gathering) if self.only_addresses and self.gathers else 0.0

    @cached_property
    def gathering(self) -> float:
        """How many times as often two hits have the same value in the bad run. Where addresses lie says nothing; that
        they are the same few again and again does. Null is no place to come back to."""
        sides = (self.good.values, self.bad.values)
        if self.only_addresses:
            sides = (sides[0][sides[0] != 0], sides[1][sides[1] != 0])
        few = min(map(len, sides))
        if few < _ENOUGH or self.bad.is_text:
            return 1.0
        good, bad = (_repeats(evenly(one, few)) for one in sides)
        return bad / max(good, 1 / few)

    @property
    def gathers(self) -> bool:
        return self.gathering >= _GATHERED

    @property
    def bad_bits(self) -> int:
        """So many bits would tell the bad run's values apart, as evenly as they are spread."""
        many = len(self.bad.values)
        return round(-math.log2(max(_repeats(self.bad.values), 1 / many))) if many > 1 else 0

    @property
    def only_addresses(self) -> bool:
        keys = self.good.histogram.keys() | self.bad.histogram.keys()
        return bool(keys) and keys <= {POINTER, 0}

    @property
    def direction(self) -> int:
        """1: the bad run's values are higher; -1: lower; 0: neither can be said."""
        if not self.is_on_both_sides or self.only_addresses or self.bad.is_text:
            return 0
        good, bad = (float(np.median(numbers_of(one, self.size))) for one in (self.good, self.bad))
        if max(abs(good), abs(bad)) < _MODES:
            return 0
        return (bad > good) - (bad < good)


def odd(values: UInt64s, compared: ComparedValues, side: int) -> npt.NDArray[np.bool_]:
    """Which of one side's values are more common there than on the other side."""
    mine, others = (compared.bad, compared.good) if side else (compared.good, compared.bad)
    many, many_others = max(1, mine.histogram.total()), max(1, others.histogram.total())
    keys = {key for key, count in mine.histogram.items() if count / many > others.histogram[key] / many_others}
    as_keys = values.tolist() if mine.is_text else map(as_key, values.tolist())
    return np.array([key in keys for key in as_keys], np.bool_)


def _apart(good: Counter[int], bad: Counter[int]) -> float:
    """Half the sum of what shares differ by."""
    many_good, many_bad = good.total(), bad.total()
    if not many_good or not many_bad:
        return float(many_good != many_bad)
    shares = (abs(good[key] / many_good - bad[key] / many_bad) for key in good.keys() | bad.keys())
    return 0.5 * sum(shares)


def _overlap(one: Numbers, other: Numbers) -> float:
    """How much of the range of both is in the range of each."""
    lowest, low = sorted((float(one.min()), float(other.min())))
    high, highest = sorted((float(one.max()), float(other.max())))
    return (high - low) / (highest - lowest) if highest > lowest else 1.0


def evenly(values: UInt64s, few: int) -> UInt64s:
    """So many of them, from all times."""
    return values[np.linspace(0, len(values) - 1, few).astype(np.int64)]


def _repeats(values: UInt64s) -> float:
    """How likely two of the values are the same."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    many = len(values)
    return float(np.sum(counts * (counts - 1)) / (many * (many - 1)))


def _alone(sample: Sample, hits: UInt64s) -> Sample:
    chosen = np.isin(sample.hits, hits)
    return replace(sample, values=sample.values[chosen], hits=sample.hits[chosen])


UNSEEN = replace(EMPTY, complete=False)
NOTHING = ComparedValues(UNSEEN, UNSEEN)


def masked(values: UInt64s, size: int) -> UInt64s:
    return values if size >= 8 else values & np.uint64((1 << 8 * size) - 1)


def cut(compared: ComparedValues, size: int) -> ComparedValues:
    """Without upper bytes that are not used."""
    if size >= compared.size or compared.good.is_text:
        return compared
    good, bad = (replace(one, values=masked(one.values, size)) for one in (compared.good, compared.bad))
    return replace(compared, good=good, bad=bad, size=size)


def numbers_of(sample: Sample, size: int) -> Numbers:
    """As the program means them, as far as that is known."""
    floats = _floats(sample.values, size) if sample.is_float else None
    return signed(sample.values, size) if floats is None else floats


def _floats(values: UInt64s, size: int) -> npt.NDArray[np.float64] | None:
    """None where they are not floating-point numbers: whole numbers and addresses would be ones that hardly anybody
    computes with, next to 0."""
    for bytes_used, bits, real in ((8, np.uint64, np.float64), (4, np.uint32, np.float32)):
        if bytes_used <= size and not (values >> np.uint64(8 * bytes_used - 1) >> np.uint64(1)).any():
            found = values.astype(bits).view(real)
            if not (np.abs(found[found != 0]) < np.finfo(real).tiny).any():
                return np.nan_to_num(found.astype(np.float64))
    return None


def signed(values: UInt64s, size: int) -> npt.NDArray[np.int64]:
    """Small negative numbers as such."""
    shift = np.int64(64 - 8 * min(size, 8))
    return (values.astype(np.int64) << shift) >> shift
