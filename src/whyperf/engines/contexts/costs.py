"""Seconds per unit of work that every context took itself, in every run: running, ready to run, blocked.

Time that a thread was ready to run and had no CPU says something of the machine and nothing of the program: it is told,
but it is nobody's latency. Off-CPU time is exact. Running time is what clock samples stand for, each charged to its own
stack; without samples it is inferred from the stacks before and after, conservatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.chains import Counted
from whyperf.engines.contexts.inference import Followed
from whyperf.engines.contexts.records import Ints
from whyperf.engines.run import Floats, Run, sums


@dataclass(frozen=True, eq=False)
class Cost:
    """One run. By node, seconds per unit of work in the node itself."""

    running: Floats
    runnable: Floats
    blocked: Floats
    squares: Floats  # variance of running and blocked time, if samples and waits come by chance and independently
    waits: Floats  # how many times it was blocked

    @property
    def own(self) -> Floats:
        return self.running + self.blocked


@dataclass(frozen=True, eq=False)
class Costs:
    """The good runs or the bad ones."""

    runs: tuple[Run, ...]
    costs: tuple[Cost, ...]

    @property
    def own(self) -> Floats:
        """Records are runs, columns are nodes."""
        return np.array([cost.own for cost in self.costs])

    def mean(self, part: str) -> Floats:
        figures: Floats = np.mean([getattr(cost, part) for cost in self.costs], axis=0)
        return figures


def cost_of(followed: Followed, counted: Counted, nodes: int, unit: float, *, sampled: bool) -> Cost:
    """`sampled`: whether clock samples were taken, though perhaps none in this run."""
    waits, samples = followed.waits, followed.samples
    at_wait, at_sample = _known(waits["node"]), _known(samples["node"])
    blocked, runnable, running = (part / 1e9 / unit for part in (counted.blocked, counted.runnable, counted.running))
    inferred = followed.running / 1e9 / unit
    return Cost(
        sums(at_sample, running, nodes) if sampled else inferred,
        sums(at_wait, runnable, nodes),
        sums(at_wait, blocked, nodes),
        sums(at_wait, blocked**2, nodes) + sums(at_sample, running**2, nodes),
        sums(at_wait, (counted.blocked > 0) / unit, nodes),
    )


def _known(node: Ints) -> Ints:
    """What has no stack is charged to the root."""
    return np.maximum(node, 0).astype(np.int64)


def side(runs: Sequence[Run], costs: dict[Run, Cost]) -> Costs:
    return Costs(tuple(runs), tuple(costs[run] for run in runs))
