"""Seconds per unit of work that every context took itself, in every run: running, ready to run, blocked.

Time that a thread was ready to run and had no CPU says something of the machine and nothing of the program: it is told,
but it is nobody's latency. Off-CPU time is exact. Running time is what clock samples stand for, each charged to its own
stack; without samples it is inferred from the stacks before and after, conservatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.chains import CountedChain
from whyperf.engines.contexts.inference import FollowedRun
from whyperf.engines.contexts.records import Ints
from whyperf.engines.run import Floats, Run, sums


@dataclass(frozen=True, eq=False)
class Cost:
    """One run. By node, seconds per unit of work in the node itself."""

    running: Floats
    runnable: Floats
    blocked: Floats
    sampled_squares: Floats  # variance of running time: samples come by chance
    blocked_squares: Floats  # variance of blocked time, if waits come by chance and independently

    @property
    def own(self) -> Floats:
        return self.running + self.blocked


@dataclass(frozen=True, eq=False)
class ContextCosts:
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


def cost_of(followed: FollowedRun, counted: CountedChain, nodes: int, factor: float | Floats, *, sampled: bool) -> Cost:
    """`factor` makes seconds seconds per unit; `sampled`: whether samples were taken, perhaps none in this run."""
    at_wait, at_sample = _known(followed.waits["node"]), _known(followed.samples["node"])
    blocked, runnable, running = (part / 1e9 for part in (counted.blocked, counted.runnable, counted.running))
    return Cost(
        factor * (sums(at_sample, running, nodes) if sampled else followed.running / 1e9),
        factor * sums(at_wait, runnable, nodes),
        factor * sums(at_wait, blocked, nodes),
        factor**2 * sums(at_sample, running**2, nodes),
        factor**2 * sums(at_wait, blocked**2, nodes),
    )


def _known(node: Ints) -> Ints:
    """What has no stack is charged to the root."""
    return np.maximum(node, 0).astype(np.int64)


def side(runs: Sequence[Run], costs: dict[Run, Cost]) -> ContextCosts:
    return ContextCosts(tuple(runs), tuple(costs[run] for run in runs))
