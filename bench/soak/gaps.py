"""Numbered calls in a dump: which are missing between them, and whether the recorder says that it left them out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect._tracer import SHED_LEVELS
from whyperf.recording.sealed.manifest import Shed

# What a write to nowhere belongs to, and what includes it. While stacks or other calls are left out, it is recorded.
_WITHOUT_WRITES = {SHED_LEVELS[4], SHED_LEVELS[8]}


@dataclass(frozen=True)
class Gaps:
    seen: int
    missing: int  # numbers between the first and the last one seen
    unexplained: int  # of them those outside of the times at which such calls were left out


def gaps_between(times: npt.NDArray[np.int64], numbers: npt.NDArray[np.uint64], shed: Iterable[Shed]) -> Gaps:
    order = np.argsort(numbers)
    times, numbers = times[order], numbers[order].astype(np.int64)
    steps = np.diff(numbers) - 1
    explained = np.zeros(len(steps), bool)
    for one in shed:
        if one.what in _WITHOUT_WRITES:
            explained |= (times[:-1] <= one.end) & (times[1:] >= one.start)
    return Gaps(len(numbers), int(steps.sum()), int(steps[~explained].sum()))
