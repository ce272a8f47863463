"""Contexts by what they added to the bad runs, with the functions on their way: the rows of the paper's Figure 7."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.compare import ContextsComparison
from whyperf.engines.contexts.layers import Layer
from whyperf.engines.contexts.records import Ints
from whyperf.engines.run import Floats, sums

_WORTH_A_ROW = 0.01  # of the excess


@dataclass(frozen=True)
class PathFunction:
    """A function on a context's path. Seconds per unit of work."""

    function: str
    module: str
    layer: Layer
    added: float  # in its own code, within this context
    rank: int  # among the context's functions, 1 is the hottest


@dataclass(frozen=True)
class RankedContext:
    rank: int
    share: float  # of the excess
    good: float
    bad: float
    steps: tuple[PathFunction, ...]  # outermost first
    hot: int  # the step that answers for the time


def ranked_contexts(comparison: ContextsComparison) -> tuple[RankedContext, ...]:
    """Most added time first. A context ends where user code does; what the kernel did for it is its own."""
    total = float(comparison.spent.sum())
    if total <= 0 or not comparison.slower:
        return ()
    size = len(comparison.contexts)
    spent = sums(comparison.user, comparison.spent, size)
    good, bad = (sums(comparison.user, side.own.mean(axis=0), size) for side in (comparison.good, comparison.bad))
    added = comparison.bad.own.mean(axis=0) - comparison.good.own.mean(axis=0)
    order = np.argsort(-spent, kind="stable")[: comparison.settings.ranked]
    below = _heaviest_kernel_callee(comparison, added)
    return tuple(
        RankedContext(
            rank,
            float(min(1.0, spent[node] / total)),
            float(good[node]),
            float(bad[node]),
            *_steps(comparison, node, added, below),
        )
        for rank, node in enumerate(order.tolist(), 1)
        if node != 0 and spent[node] >= _WORTH_A_ROW * total
    )


def _steps(
    comparison: ContextsComparison, user: int, added: Floats, below: Ints
) -> tuple[tuple[PathFunction, ...], int]:
    contexts = comparison.contexts
    nodes = contexts.path(user)
    while below[nodes[-1]]:
        nodes.append(int(below[nodes[-1]]))
    hot = nodes.index(int(comparison.answering[user]))
    # The one that answers for libc's and the kernel's time has it counted as its own.
    own = [float(added[node]) for node in nodes]
    own[hot] = sum(own[hot:])
    ranks = {at: rank for rank, at in enumerate(sorted(range(len(nodes)), key=lambda at: (-own[at], at != hot, at)), 1)}
    keys = [contexts.index.functions[int(contexts.function[node])].key for node in nodes]
    steps = tuple(
        PathFunction(key.name, key.module, comparison.layer(node), own[at], ranks[at])
        for at, (node, key) in enumerate(zip(nodes, keys, strict=True))
    )
    return steps, hot


def _heaviest_kernel_callee(comparison: ContextsComparison, added: Floats) -> Ints:
    """For every node the kernel's function below it with most of the added time; 0 where there is none."""
    contexts = comparison.contexts
    inclusive = contexts.shape.inclusive(np.maximum(added, 0.0))
    found = np.zeros(len(contexts), np.int64)
    for node in np.argsort(inclusive, kind="stable").tolist():
        if node and inclusive[node] > 0 and comparison.layer(node) is Layer.KERNEL:
            found[contexts.tree.parent[node]] = node
    return found
