"""Seconds per unit of work of every calling context in every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.context_tree import ContextTree, TreeBuilder
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Ints, Run, sums
from whyperf.recording.schemas.tables import Clock


@dataclass(frozen=True)
class CostSide:
    """The good runs or the bad runs. Rows are runs, columns are nodes of the tree."""

    runs: tuple[Run, ...]
    seconds: Floats  # per unit of work, in the node itself
    squares: Floats  # squared weights per squared unit: sampling variance of `seconds`
    samples: Floats
    nodes: tuple[Ints, ...]  # for each run, the node of each of its stacks

    @property
    def mean(self) -> Floats:
        mean: Floats = self.seconds.mean(axis=0)
        return mean

    @property
    def sampled(self) -> Floats:
        """Samples of all runs together."""
        total: Floats = self.samples.sum(axis=0)
        return total

    @property
    def one_sample(self) -> float:
        """Seconds per unit of work that one sample more in one of the runs would add to the mean."""
        samples = float(self.samples.sum())
        return float(self.mean.sum()) / samples if samples else 0.0


@dataclass(frozen=True)
class Costs:
    tree: ContextTree
    good: CostSide
    bad: CostSide

    @property
    def excess(self) -> Floats:
        return self.bad.mean - self.good.mean

    def of_samples(self, count: float) -> float:
        """Seconds per unit of work that so many samples more would add, to the side to which they add more."""
        return count * max(self.good.one_sample, self.bad.one_sample)


def measure(index: FunctionIndex, units: dict[Run, float], clock: Clock, *, folded: bool) -> Costs:
    """Costs of both sides on one tree: the program view when `folded`, else the full view."""
    builder = TreeBuilder(index, folded=folded)
    nodes = {run: builder.add(run, run.time(clock).stack) for run in (*index.good, *index.bad)}
    tree = builder.tree()
    return Costs(
        tree, _side(index.good, nodes, units, clock, len(tree)), _side(index.bad, nodes, units, clock, len(tree))
    )


def in_own_code(index: FunctionIndex, side: CostSide, units: dict[Run, float], clock: Clock) -> Floats:
    """Of the mean seconds in each node those in code of its function itself, not of a library that it calls."""
    total = np.zeros(side.seconds.shape[1])
    for run, nodes in zip(side.runs, side.nodes, strict=True):
        time, of_frame = run.time(clock), index.of_frame[run]
        innermost = (run.frame_chain[run.stack_frame[stack]][-1] for stack in time.stack.tolist())
        own = np.fromiter((index.own[of_frame[frame]] for frame in innermost), np.bool_, len(nodes))
        total += sums(nodes, time.seconds * own, len(total)) / units[run]
    return total / len(side.runs)


def _side(runs: Sequence[Run], nodes: dict[Run, Ints], units: dict[Run, float], clock: Clock, size: int) -> CostSide:
    seconds, squares, samples = (np.zeros((len(runs), size)) for _ in range(3))
    for row, run in enumerate(runs):
        time, unit = run.time(clock), units[run]
        where = nodes[run]
        seconds[row] = sums(where, time.seconds, size) / unit
        squares[row] = sums(where, time.squares, size) / unit**2
        samples[row] = sums(where, time.samples.astype(np.float64), size)
    return CostSide(tuple(runs), seconds, squares, samples, tuple(nodes[run] for run in runs))
