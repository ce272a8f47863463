"""Rows by their key, in one pass."""

from __future__ import annotations

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.compiled import njit


def grouped(key: Int32s, groups: int) -> tuple[Ints, Int32s]:
    """Rows by key in their order: group g's are `order[start[g]:start[g + 1]]`. Negative keys are in none."""
    start = np.zeros(groups + 1, np.int64)
    _count_groups(key, start)
    order = np.empty(start[groups], np.int32)
    _fill_groups(key, start[:-1].copy(), order)
    return start, order


@njit(cache=True, nogil=True)
def _count_groups(key: Int32s, start: Ints) -> None:
    for row in range(len(key)):
        if key[row] >= 0:
            start[key[row] + 1] += 1
    for group in range(len(start) - 1):
        start[group + 1] += start[group]


@njit(cache=True, nogil=True)
def _fill_groups(key: Int32s, filled: Ints, order: Int32s) -> None:
    """`filled`: where each group's next row belongs."""
    for row in range(len(key)):
        if key[row] >= 0:
            order[filled[key[row]]] = row
            filled[key[row]] += 1
