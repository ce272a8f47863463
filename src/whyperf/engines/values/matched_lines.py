"""Values compared where they were read at the same places: samples that land elsewhere are no anomaly.

A place is a line, and the function that the line was waiting for: one line of a dispatcher calls everything. Each side
is weighed so that every place has the same share on both: the smaller of the two. What remains different is what the
variable held, not where it was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.kinds import Flags
from whyperf.engines.values.readings import Sequence

_WIDE = 1 << 14  # the lines of one function, times what they call, are mostly fewer


@dataclass(frozen=True)
class LineReadings:
    """One kind's readings on the common lines, run after run. `weight` is per line."""

    codes: Ints
    line: Ints  # renumbered
    starts: Ints
    weight: Floats

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Of those runs that have readings: where theirs begin and end."""
        starts = self.starts.tolist()
        return [(start, stop) for start, stop in pairwise(starts) if stop > start]


@dataclass(frozen=True)
class Matched:
    good: LineReadings
    bad: LineReadings
    share: Floats  # of each common line in the common mix


def match_lines(good: Sequence, bad: Sequence, *, fallback_below: float) -> Matched | None:
    """None where the two sides share no line.

    Below `fallback_below` of either side's readings on common lines the lines are those of two different texts: then
    all readings are compared as if of one line.
    """
    if not len(good) or not len(bad):
        return None
    first, second, lines = _places(good, bad)
    if lines == 1:
        return Matched(_whole(good), _whole(bad), np.ones(1))
    here, there = np.bincount(first, minlength=lines) / len(good), np.bincount(second, minlength=lines) / len(bad)
    common = (here > 0) & (there > 0)
    if min(here[common].sum(), there[common].sum()) < fallback_below:
        return Matched(_whole(good), _whole(bad), np.ones(1))
    if not common.any():
        return None
    mix = np.where(common, np.minimum(here, there), 0.0)
    mix /= mix.sum()
    return Matched(_side(good, first, common, mix, here), _side(bad, second, common, mix, there), mix)


def _places(good: Sequence, bad: Sequence) -> tuple[Ints, Ints, int]:
    """Both sides' places, numbered; and how many numbers there are."""
    line, lines = _from_zero(good.line, bad.line)
    callee, callees = _from_zero(good.callee, bad.callee)
    place, places = callee * lines + line, callees * lines
    if places >= _WIDE:
        known, place = np.unique(place, return_inverse=True)
        places = len(known)
    return place[: len(good)], place[len(good) :], places


def _from_zero(good: Ints, bad: Ints) -> tuple[Ints, int]:
    low, high = min(int(good.min()), int(bad.min())), max(int(good.max()), int(bad.max()))
    return np.concatenate((good, bad)) - low, high - low + 1


def _side(side: Sequence, line: Ints, common: Flags, mix: Floats, share: Floats) -> LineReadings:
    weight = np.divide(mix, share, out=np.zeros_like(mix), where=share > 0)
    if bool(common[share > 0].all()):
        return LineReadings(side.codes, line, side.starts, weight)
    kept = common[line]
    starts = np.concatenate(([0], np.cumsum(kept)))[side.starts]
    return LineReadings(side.codes[kept], line[kept], starts, weight)


def _whole(side: Sequence) -> LineReadings:
    return LineReadings(side.codes, np.zeros(len(side), np.int64), side.starts, np.ones(1))
