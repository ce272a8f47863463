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
class Placed:
    """A run's allocations, each with its contexts."""

    run: Run
    held: Holdings
    node: Ints  # where it was allocated; ROOT: unknown
    freed_node: Ints  # where it was freed; LOST: nobody knows, or it was not


@dataclass(frozen=True, eq=False)
class Contexts:
    index: FunctionIndex
    tree: ContextTree
    good: tuple[Placed, ...]
    bad: tuple[Placed, ...]

    def function(self, node: int) -> int:
        return int(self.tree.function[node])

    def name(self, node: int) -> str:
        return self.index.functions[self.function(node)].key.name

    def by_node(self, side: Sequence[Placed], amount: Callable[[Placed], Floats]) -> Floats:
        """A row for each run: what its allocations come to, by where they were made."""
        return np.array([sums(one.node, amount(one), len(self.tree)) for one in side])

    def by_freeing_node(self, side: Sequence[Placed], amount: Callable[[Placed], Floats]) -> Floats:
        """The same by where they were freed."""
        rows = []
        for one in side:
            known = np.flatnonzero(one.freed_node != LOST)
            rows.append(sums(one.freed_node[known], amount(one)[known], len(self.tree)))
        return np.array(rows)


def place(index: FunctionIndex, held: dict[Run, Holdings], *, folded: bool = True) -> Contexts:
    """`folded`: code of system libraries belongs to its callers."""
    builder = TreeBuilder(index, folded=folded)
    nodes = {
        run: (_nodes(builder, run, one.stack, ROOT), _nodes(builder, run, one.freed_stack, LOST))
        for run, one in held.items()
    }

    def placed(runs: Sequence[Run]) -> tuple[Placed, ...]:
        return tuple(Placed(run, held[run], *nodes[run]) for run in runs)

    return Contexts(index, builder.tree(), placed(index.good), placed(index.bad))


def _nodes(builder: TreeBuilder, run: Run, stacks: Ints, unknown: int) -> Ints:
    distinct, where = np.unique(stacks, return_inverse=True)
    known = distinct >= 0
    node = np.full(len(distinct), unknown, np.int64)
    node[known] = builder.add(run, distinct[known])
    return node[where]


def live(one: Placed) -> Floats:
    return one.held.weight * one.held.at_peak


def touched(one: Placed) -> Floats:
    return live(one) * one.held.touched


def kept(one: Placed) -> Floats:
    return one.held.weight * one.held.kept


def allocated(one: Placed) -> Floats:
    return one.held.weight * one.held.in_window


def objects(one: Placed) -> Floats:
    return one.held.weight / one.held.size * one.held.in_window


def samples(one: Placed) -> Floats:
    return np.ones(len(one.held))


def only(chosen: Callable[[Placed], Booleans], amount: Callable[[Placed], Floats]) -> Callable[[Placed], Floats]:
    return lambda one: amount(one) * chosen(one)
