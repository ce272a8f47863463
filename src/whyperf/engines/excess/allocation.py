"""Every second of the excess is spent once, in the context where it appeared.

A context's inclusive excess is bad minus good per unit of work, so what shrank under a caller pays for what grew under
the same caller. From the root down each context hands its budget to itself and its callees in proportion to what
grew there; nothing is handed to what shrank. The budgets of all contexts' own code add up to the root's excess.
"""

from __future__ import annotations

import numpy as np

from whyperf.engines.excess.novelty import Novelty
from whyperf.engines.excess.tree import ContextTree
from whyperf.engines.run import Floats, sums


def spend(tree: ContextTree, excess: Floats, novelty: Novelty) -> Floats:
    """Seconds of the root's excess that each context's own code answers for."""
    inclusive = tree.inclusive(excess)
    own_claim = np.maximum(excess, 0.0)
    child_claim = np.maximum(inclusive, 0.0) * _not_renamed(tree, inclusive, novelty)
    parent = tree.parent[1:]
    claims = own_claim + sums(parent, child_claim[1:], len(tree))
    budget = np.zeros(len(tree))
    budget[0] = max(0.0, float(inclusive[0]))
    rate = np.zeros(len(tree))
    depth = tree.depth
    for level in range(int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        if level:
            budget[nodes] = child_claim[nodes] * rate[tree.parent[nodes]]
        rate[nodes] = np.divide(budget[nodes], claims[nodes], out=np.zeros(len(nodes)), where=claims[nodes] > 0)
    spent: Floats = own_claim * rate
    return spent


def _not_renamed(tree: ContextTree, inclusive: Floats, novelty: Novelty) -> Floats:
    """What is left of each new callee's claim once time that vanished with callees of the same caller is set off.

    A function that was renamed, split or inlined differently vanishes in one place and appears in another of the same
    caller. The caller's own budget has already shrunk by it; this keeps the new name from taking what others grew.
    """
    parent, function = tree.parent[1:], tree.function[1:]
    size = len(tree)
    appeared = np.where(novelty.new[function], np.maximum(inclusive[1:], 0.0), 0.0)
    vanished = np.where(novelty.gone[function], np.maximum(-inclusive[1:], 0.0), 0.0)
    appeared_under = sums(parent, appeared, size)
    vanished_under = sums(parent, vanished, size)
    left = np.ones(size)
    np.divide(appeared_under - vanished_under, appeared_under, out=left, where=appeared_under > 0)
    factor = np.ones(size)
    factor[1:] = np.where(novelty.new[function], np.clip(left[parent], 0.0, 1.0), 1.0)
    return factor
