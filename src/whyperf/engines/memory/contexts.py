"""One calling-context tree of all runs' allocations and frees, and what each context holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.context_tree import ROOT, ContextTree, TreeBuilder
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.holdings import Booleans, Holdings
from whyperf.engines.run import Floats, Ints, Run, sums

LOST = -1


@dataclass(frozen=True, eq=False)
class PlacedHoldings:
    """A run's allocations, each with its contexts."""

    run: Run
    held: Holdings
    node: Ints  # where it was allocated; ROOT: unknown
    freed_node: Ints  # where it was freed; LOST: nobody knows, or it was not


@dataclass(frozen=True, eq=False)
class MemoryContexts:
    index: FunctionIndex
    tree: ContextTree
    good: tuple[PlacedHoldings, ...]
    bad: tuple[PlacedHoldings, ...]

    def function(self, node: int) -> int:
        return int(self.tree.function[node])

    def name(self, node: int) -> str:
        return self.index.functions[self.function(node)].key.name

    def by_node(self, side: Sequence[PlacedHoldings], amount: Callable[[PlacedHoldings], Floats]) -> Floats:
        """A row for each run: what its allocations come to, by where they were made."""
        return np.array([sums(one.node, amount(one), len(self.tree)) for one in side])

    def by_freeing_node(self, side: Sequence[PlacedHoldings], amount: Callable[[PlacedHoldings], Floats]) -> Floats:
        """The same by where they were freed."""
        rows = []
        for one in side:
            known = np.flatnonzero(one.freed_node != LOST)
            rows.append(sums(one.freed_node[known], amount(one)[known], len(self.tree)))
        return np.array(rows)


def place(index: FunctionIndex, held: dict[Run, Holdings], *, folded: bool = True) -> MemoryContexts:
    """`folded`: code of system libraries belongs to its callers."""
    builder = TreeBuilder(index, folded=folded)
    nodes = {
        run: (_nodes(builder, run, one.stack, ROOT), _nodes(builder, run, one.freed_stack, LOST))
        for run, one in held.items()
    }

    def placed(runs: Sequence[Run]) -> tuple[PlacedHoldings, ...]:
        return tuple(PlacedHoldings(run, held[run], *nodes[run]) for run in runs)

    return MemoryContexts(index, builder.tree(), placed(index.good), placed(index.bad))


def _nodes(builder: TreeBuilder, run: Run, stacks: Ints, unknown: int) -> Ints:
    distinct, where = np.unique(stacks, return_inverse=True)
    known = distinct >= 0
    node = np.full(len(distinct), unknown, np.int64)
    node[known] = builder.add(run, distinct[known])
    return node[where]


def live(one: PlacedHoldings) -> Floats:
    return one.held.weight * one.held.at_peak


def touched(one: PlacedHoldings) -> Floats:
    return live(one) * one.held.touched


def kept(one: PlacedHoldings) -> Floats:
    return one.held.weight * one.held.kept


def allocated(one: PlacedHoldings) -> Floats:
    return one.held.weight * one.held.in_window


def objects(one: PlacedHoldings) -> Floats:
    return one.held.weight / one.held.size * one.held.in_window


def samples(one: PlacedHoldings) -> Floats:
    return np.ones(len(one.held))


def only(
    chosen: Callable[[PlacedHoldings], Booleans], amount: Callable[[PlacedHoldings], Floats]
) -> Callable[[PlacedHoldings], Floats]:
    return lambda one: amount(one) * chosen(one)
