"""The same statistics compiled, for recordings so large that a second of loading the compiler does not matter.

Imported only where `ValuesSettings.compiled_from` says so.
"""

from __future__ import annotations

import numpy as np

from whyperf.engines.compiled import njit
from whyperf.engines.run import Ints


@njit("Tuple((float64, float64))(int64[::1], int64[::1], int64, int64)", cache=True, nogil=True)
def merge_sorted(good: Ints, bad: Ints, distinct: int, bins: int) -> tuple[float, float]:
    """One pass over two sorted samples: see `statistics.merge_sorted`, its twin."""
    n, m = len(good), len(bad)
    size = float(n + m)
    i = j = values = 0
    squares = exact = binned = 0.0
    in_good = in_bad = 0
    full = 0
    while i < n or j < m:
        if j >= m:
            value = good[i]
        elif i >= n:
            value = bad[j]
        else:
            value = min(good[i], bad[j])
        first_i, first_j = i, j
        while i < n and good[i] == value:
            i += 1
        while j < m and bad[j] == value:
            j += 1
        here, there = i - first_i, j - first_j
        total = here + there
        rank = first_i + first_j + total * 0.5
        spread = rank * (size - rank) - size * total * 0.25
        if spread > 0:
            distance = size * (first_i + here * 0.5) - rank * n
            squares += total / size / spread * distance * distance
        if here > 0 and there > 0:
            exact += np.sqrt(float(here) * there)
        values += 1
        in_good += here
        in_bad += there
        if (i + j) * bins // (n + m) > full:
            full = (i + j) * bins // (n + m)
            binned += np.sqrt(float(in_good) * in_bad)
            in_good = in_bad = 0
    binned += np.sqrt(float(in_good) * in_bad)
    overlap = (exact if values <= distinct else binned) / np.sqrt(float(n) * m)
    statistic = squares * size / (float(n) * m) * (size - 1) / size
    return statistic, np.sqrt(max(0.0, 1.0 - overlap))
