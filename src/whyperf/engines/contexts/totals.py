"""Inferred instances added up by context: the paper's performance-annotated calling-context tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Floats


@dataclass(frozen=True, eq=False)
class InstanceTotals:
    """By node."""

    count: Floats
    conservative: Floats  # nanoseconds
    aggressive: Floats

    def mean(self, *, aggressive: bool = False) -> Floats:
        """The paper's average latency of each context's instances, in seconds."""
        total = self.aggressive if aggressive else self.conservative
        return np.divide(total / 1e9, self.count, out=np.zeros(len(total)), where=self.count > 0)


def added(runs: Sequence[InstanceTotals]) -> InstanceTotals:
    """Of all instances of several runs."""
    return InstanceTotals(
        *(np.sum([getattr(run, name) for run in runs], axis=0) for name in ("count", "conservative", "aggressive"))
    )
