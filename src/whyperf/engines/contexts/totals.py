"""Inferred instances added up by context: the paper's performance-annotated calling-context tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.kernels import Rows
from whyperf.engines.run import Floats, sums


@dataclass(eq=False)
class InstanceTotals:
    """One run; by node."""

    count: Floats
    conservative: Floats  # nanoseconds
    aggressive: Floats

    @classmethod
    def nothing(cls, nodes: int) -> InstanceTotals:
        return cls(*(np.zeros(nodes) for _ in range(3)))

    def add(self, instances: Rows) -> None:
        node, nodes = instances["node"].astype(np.int64), len(self.count)
        self.count += np.bincount(node, minlength=nodes)
        self.conservative += sums(node, (instances["last"] - instances["first"]).astype(np.float64), nodes)
        self.aggressive += sums(node, (instances["after"] - instances["first"]).astype(np.float64), nodes)

    def mean(self, *, aggressive: bool = False) -> Floats:
        """The paper's average latency of each context's instances, in seconds."""
        total = self.aggressive if aggressive else self.conservative
        return np.divide(total / 1e9, self.count, out=np.zeros(len(total)), where=self.count > 0)


def added(runs: list[InstanceTotals]) -> InstanceTotals:
    """Of all instances of several runs."""
    return InstanceTotals(
        *(np.sum([getattr(run, name) for run in runs], axis=0) for name in ("count", "conservative", "aggressive"))
    )
