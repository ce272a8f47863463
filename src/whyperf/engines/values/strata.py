"""Values compared where they were read at the same lines: samples that land elsewhere are no anomaly.

Each side is weighed so that every line has the same share on both: the smaller of the two. What remains different is
what the variable held, not where it was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.kinds import Flags
from whyperf.engines.values.readings import Sequence

_WIDE = 1 << 14  # lines of one function lie closer together than this


@dataclass(frozen=True)
class Side:
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
    good: Side
    bad: Side
    share: Floats  # of each common line in the common mix


def match_lines(good: Sequence, bad: Sequence, *, fallback_below: float) -> Matched | None:
    """None where the two sides share no line.

    Below `fallback_below` of either side's readings on common lines the lines are those of two different texts: then
    all readings are compared as if of one line.
    """
    if not len(good) or not len(bad):
        return None
    low = min(int(good.line.min()), int(bad.line.min()))
    high = max(int(good.line.max()), int(bad.line.max()))
    if low == high:
        return Matched(_whole(good), _whole(bad), np.ones(1))
    if high - low < _WIDE:
        first, second, lines = good.line - low, bad.line - low, high - low + 1
    else:
        known, numbers = np.unique(np.concatenate((good.line, bad.line)), return_inverse=True)
        first, second, lines = numbers[: len(good)], numbers[len(good) :], len(known)
    here, there = np.bincount(first, minlength=lines) / len(good), np.bincount(second, minlength=lines) / len(bad)
    common = (here > 0) & (there > 0)
    if min(here[common].sum(), there[common].sum()) < fallback_below:
        return Matched(_whole(good), _whole(bad), np.ones(1))
    if not common.any():
        return None
    mix = np.where(common, np.minimum(here, there), 0.0)
    mix /= mix.sum()
    return Matched(_side(good, first, common, mix, here), _side(bad, second, common, mix, there), mix)


def _side(side: Sequence, line: Ints, common: Flags, mix: Floats, share: Floats) -> Side:
    weight = np.divide(mix, share, out=np.zeros_like(mix), where=share > 0)
    if bool(common[share > 0].all()):
        return Side(side.codes, line, side.starts, weight)
    kept = common[line]
    starts = np.concatenate(([0], np.cumsum(kept)))[side.starts]
    return Side(side.codes[kept], line[kept], starts, weight)


def _whole(side: Sequence) -> Side:
    return Side(side.codes, np.zeros(len(side), np.int64), side.starts, np.ones(1))
