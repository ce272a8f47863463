"""Functions that only the bad runs execute, and functions that only the good runs execute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.excess.costs import Costs
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.excess.tree import ROOT, ContextTree
from whyperf.engines.run import Floats, Ints, sums

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Novelty:
    """Per function; the last entry answers for the root's function number, -1."""

    new: Flags
    gone: Flags


def find_novelty(costs: Costs, functions: int, settings: ExcessSettings) -> Novelty:
    good = by_function(costs.tree, costs.good.samples.sum(axis=0), functions)
    bad = by_function(costs.tree, costs.bad.samples.sum(axis=0), functions)
    good_total, bad_total = float(costs.good.samples.sum()), float(costs.bad.samples.sum())
    return Novelty(
        _only_here(bad, bad_total, good, good_total, settings),
        _only_here(good, good_total, bad, bad_total, settings),
    )


def by_function(tree: ContextTree, own: Floats, functions: int) -> Floats:
    """Inclusive sums per function, each context counted once however often the function is on its stack."""
    inclusive = tree.inclusive(own)
    nodes = tree.outermost()
    return sums(tree.function[nodes], inclusive[nodes], functions)


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


def _only_here(here: Floats, here_total: float, there: Floats, there_total: float, settings: ExcessSettings) -> Flags:
    if here_total == 0 or there_total == 0:
        return np.zeros(len(here), np.bool_)
    share, share_there = here / here_total, there / there_total
    flags: Flags = (share * there_total >= settings.new_expected_samples) & (
        share_there <= settings.new_share_left * share
    )
    return flags
