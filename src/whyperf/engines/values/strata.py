"""Values compared where they were read at the same lines: samples that land elsewhere are no anomaly.

Each side is weighed so that every line has the same share on both: the smaller of the two. What remains different is
what the variable held, not where it was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.readings import Sequence

_WIDE = 1 << 14  # lines of one function lie closer together than this


@dataclass(frozen=True)
class Side:
    """One kind's runs on the common lines. `weight` is per line."""

    codes: tuple[Ints, ...]
    line: tuple[Ints, ...]  # renumbered
    weight: Floats

    @property
    def pooled(self) -> Ints:
        return self.codes[0] if len(self.codes) == 1 else np.concatenate(self.codes)

    @property
    def count(self) -> int:
        return sum(len(codes) for codes in self.codes)


@dataclass(frozen=True)
class Matched:
    good: Side
    bad: Side
    share: Floats  # of each common line in the common mix


def match_lines(good: Several[Sequence], bad: Several[Sequence], *, fallback_below: float) -> Matched | None:
    """None where the two sides share no line.

    Below `fallback_below` of either side's readings on common lines the lines are those of two different texts: then
    all readings are compared as if of one line.
    """
    lines, renumber = _numbered([*good, *bad])
    here, there = (_counts(renumber, side, lines) for side in (good, bad))
    if not here.sum() or not there.sum():
        return None
    here_share, there_share = here / here.sum(), there / there.sum()
    common = (here > 0) & (there > 0)
    if min(here_share[common].sum(), there_share[common].sum()) < fallback_below:
        return Matched(_whole(good), _whole(bad), np.ones(1))
    if not common.any():
        return None
    mix = np.where(common, np.minimum(here_share, there_share), 0.0)
    mix /= mix.sum()
    return Matched(_side(good, renumber, common, mix, here_share), _side(bad, renumber, common, mix, there_share), mix)


def _numbered(sequences: Several[Sequence]) -> tuple[int, tuple[int, Ints | None]]:
    """How many lines there may be, and how to number them: by an offset, or by a list where they are far apart."""
    present = [sequence.line for sequence in sequences if len(sequence)]
    if not present:
        return 1, (0, None)
    low, high = min(int(line.min()) for line in present), max(int(line.max()) for line in present)
    if high - low < _WIDE:
        return high - low + 1, (low, None)
    known = np.unique(np.concatenate([np.unique(line) for line in present]))
    return len(known), (0, known)


def _number(line: Ints, renumber: tuple[int, Ints | None]) -> Ints:
    low, known = renumber
    return line - low if known is None else np.searchsorted(known, line).astype(np.int64)


def _counts(renumber: tuple[int, Ints | None], side: Several[Sequence], lines: int) -> Floats:
    total = np.zeros(lines)
    for sequence in side:
        total += np.bincount(_number(sequence.line, renumber), minlength=lines)
    return total


def _side(
    side: Several[Sequence],
    renumber: tuple[int, Ints | None],
    common: npt.NDArray[np.bool_],
    mix: Floats,
    share: Floats,
) -> Side:
    codes, numbers = [], []
    everything = bool(common[share > 0].all())
    for sequence in side:
        number = _number(sequence.line, renumber)
        kept = slice(None) if everything else common[number]
        codes.append(sequence.codes[kept])
        numbers.append(number[kept])
    weight = np.divide(mix, share, out=np.zeros_like(mix), where=share > 0)
    return Side(tuple(codes), tuple(numbers), weight)


def _whole(side: Several[Sequence]) -> Side:
    codes = tuple(sequence.codes for sequence in side)
    return Side(codes, tuple(np.zeros(len(one), np.int64) for one in codes), np.ones(1))
