"""Functions that only the bad runs execute, and functions that only the good runs execute."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.allocation import Novelty
from whyperf.engines.context_tree import ROOT, ContextTree
from whyperf.engines.excess.costs import Costs, CostSide
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.run import Floats, Ints, sums

Flags = npt.NDArray[np.bool_]


def find_novelty(
    costs: Costs,
    functions: int,
    settings: ExcessSettings,
    *,
    called_in_good: Set[tuple[int, int]],
    nobody_chose: Callable[[int], bool],
    compiled: Set[int],
) -> Novelty:
    """`called_in_good`: callers and callees of calls that certainly happened there, too quick to be seen or not.
    `nobody_chose`: whether the callers of a context did in the good runs what they do here, and data chose it.
    `compiled`: functions compiled while running, which may have been interpreted on the other side."""
    good, bad = _seen(costs, costs.good, functions), _seen(costs, costs.bad, functions)
    new, gone = _only_here(bad, good, settings), _only_here(good, bad, settings)
    new[list(compiled)] = gone[list(compiled)] = False
    new &= ~_mostly_entered(costs, new, lambda node: _call(costs.tree, node) in called_in_good)
    unchosen = _mostly_entered(costs, new, nobody_chose)
    return Novelty(new & ~unchosen & ~_only_below(costs.tree, new, unchosen), gone)


def _mostly_entered(costs: Costs, new: Flags, so: Callable[[int], bool]) -> Flags:
    """New functions that are, for most of their bad time under what is not new, entered so."""
    tree = costs.tree
    inclusive = tree.inclusive(costs.bad.mean)
    balance = np.zeros(len(new))
    for node in tree.outermost.tolist():
        caller, function = _call(tree, node)
        if new[function] and not (caller >= 0 and new[caller]):
            balance[function] += inclusive[node] if so(node) else -inclusive[node]
    mostly: Flags = balance > 0.0
    return mostly


def _only_below(tree: ContextTree, new: Flags, unchosen: Flags) -> Flags:
    """New functions that nothing calls but what nobody chose, and what that calls: they came in with it."""
    flags = new.copy()
    below = [False] * len(tree)
    for node in range(1, len(tree)):
        caller, function = _call(tree, node)
        below[node] = caller >= 0 and (bool(unchosen[caller]) or (below[int(tree.parent[node])] and bool(new[caller])))
        flags[function] &= below[node]
    return flags


def _call(tree: ContextTree, node: int) -> tuple[int, int]:
    return int(tree.function[tree.parent[node]]), int(tree.function[node])


@dataclass(frozen=True)
class _Seen:
    """How much was seen of every function, with what it calls."""

    samples: Floats
    seconds: Floats  # per unit of work
    total_samples: float
    total_s: float


def _seen(costs: Costs, side: CostSide, functions: int) -> _Seen:
    return _Seen(
        by_function(costs.tree, side.sampled, functions),
        by_function(costs.tree, side.mean, functions),
        float(side.samples.sum()),
        float(side.mean.sum()),
    )


def by_function(tree: ContextTree, own: Floats, functions: int) -> Floats:
    """Inclusive sums per function, each context counted once however often the function is on its stack."""
    inclusive = tree.inclusive(own)
    nodes = tree.outermost
    return sums(tree.function[nodes], inclusive[nodes], functions)


def own_by_function(tree: ContextTree, own: Floats, functions: int) -> Floats:
    return sums(tree.function[1:], own[1:], functions)


def heads(tree: ContextTree, new: Flags) -> Ints:
    """For every node the outermost new function's node on its path, where something that is not new called it."""
    head = np.full(len(tree), -1, np.int64)
    is_new = _new_nodes(tree, new)
    for node in range(1, len(tree)):
        parent = int(tree.parent[node])
        if head[parent] >= 0:
            head[node] = head[parent]
        elif parent != ROOT and is_new[node] and not is_new[parent]:
            head[node] = node
    return head


def _new_nodes(tree: ContextTree, new: Flags) -> Flags:
    flags = np.zeros(len(tree), np.bool_)
    flags[1:] = new[tree.function[1:]]
    return flags


def _only_here(here: _Seen, there: _Seen, settings: ExcessSettings) -> Flags:
    """Functions seen here of which the other side should have had enough samples, but has almost none."""
    if min(here.total_samples, there.total_samples, here.total_s, there.total_s) <= 0:
        return np.zeros(len(here.samples), np.bool_)
    share, share_there = here.samples / here.total_samples, there.samples / there.total_samples
    expected = np.minimum(share * there.total_samples, _expected_if_work_grew(here, there, settings))
    flags: Flags = (expected >= settings.new_expected_samples) & (share_there <= settings.new_share_left * share)
    return flags


def _expected_if_work_grew(here: _Seen, there: _Seen, settings: ExcessSettings) -> Floats:
    """Samples there if the function's time grew with a power of all other work.

    A quadratic function vanishes from a run with a small input although it ran: that alone is no new path.
    """
    other_here, other_there = here.total_s - here.seconds, there.total_s - there.seconds
    growth = np.full(len(here.seconds), np.inf)
    np.divide(other_here, other_there, out=growth, where=other_there > 0)
    seconds: Floats = here.seconds / np.maximum(growth, 1.0) ** settings.new_growth_power
    return seconds * (there.total_samples / there.total_s)
