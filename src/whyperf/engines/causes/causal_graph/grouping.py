"""Rows that agree in several columns, found by hashing: sorting millions of them takes seconds."""

from __future__ import annotations

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.compiled import njit


def groups(*columns: Int32s | Ints) -> tuple[Ints, Int32s]:
    """The first row of every group, and by row the number of its group; groups are in the order of their first row."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        wide = column.astype(np.int64)
        key = wide if column is columns[0] else _paired(key, wide)
    return _numbered(key)


def _numbered(key: Ints) -> tuple[Ints, Int32s]:
    first, of_row = np.empty(len(key), np.int64), np.empty(len(key), np.int32)
    count = _number(key, first, of_row)
    return first[:count].copy(), of_row


def _paired(a: Ints, b: Ints) -> Ints:
    """One number for two: `a` becomes the number of its group, so that both fit."""
    _, numbered = _numbered(a)
    return (numbered.astype(np.int64) << 33) | (b + 1)


@njit(cache=True, nogil=True)
def _number(key: Ints, first: Ints, of_row: Int32s) -> int:
    numbers = {np.int64(0): np.int32(0)}
    numbers.clear()
    for row in range(len(key)):
        known = numbers.get(key[row], np.int32(-1))
        if known < 0:
            known = np.int32(len(numbers))
            numbers[key[row]] = known
            first[known] = row
        of_row[row] = known
    return len(numbers)
