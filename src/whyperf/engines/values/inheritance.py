"""Bad values that were passed on: a parameter that equals its caller's equally abnormal variable is the caller's doing.

Values of both frames are in the same sample, so this is seen, not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Ints
from whyperf.engines.values.readings import Readings
from whyperf.engines.values.settings import ValuesSettings

# Equal by chance more often than not: only the direct caller is believed to have passed them.
_COMMON_VALUES = (-1, 0, 1)


@dataclass(frozen=True)
class Kept:
    """Readings of one variable in one bad run: the same samples for all variables."""

    sample: Ints
    depth: Ints
    raw: Ints


@dataclass(frozen=True)
class Party:
    """An abnormal variable that may have passed its value on, or been passed it."""

    function: int
    anomaly: float
    is_parameter: bool
    kept: Kept


def keep(readings: Readings, samples: int, settings: ValuesSettings) -> Kept:
    stride = max(1, samples // settings.kept_samples)
    chosen = readings.sample % stride == 0
    return Kept(readings.sample[chosen], readings.depth[chosen], readings.raw[chosen])


def passed_on(callee: Party, callers: Sequence[Party], settings: ValuesSettings) -> set[int]:
    """Functions that passed the callee its abnormal parameter."""
    if not callee.is_parameter:
        return set()
    return {
        caller.function
        for caller in callers
        if caller.function != callee.function
        and caller.anomaly >= settings.inherited_anomaly * callee.anomaly
        and _equal(callee.kept, caller.kept, settings)
    }


def _equal(callee: Kept, caller: Kept, settings: ValuesSettings) -> bool:
    common, at, there = np.intersect1d(callee.sample, caller.sample, return_indices=True)
    if len(common) < settings.inherited_samples:
        return False
    # An inlined callee is in its caller's frame: the same depth.
    above = caller.depth[there].astype(np.int64) - callee.depth[at]
    values = callee.raw[at]
    believed = (above == 0) | (above == 1) | ((above > 1) & ~np.isin(values, _COMMON_VALUES))
    if np.count_nonzero(believed) < settings.inherited_samples:
        return False
    equal = values[believed] == caller.raw[there][believed]
    return bool(equal.mean() >= settings.inherited_equal)
