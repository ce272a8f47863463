"""The published ranking, to be compared with: the paper's Algorithm 3, word for word where it is unambiguous.

Latencies are means over a context's inferred instances, whatever their number: of a function called more often this
ranking sees nothing. The text subtracts callees' latencies before contexts are compared, and so do we.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.compare import ContextsComparison
from whyperf.engines.contexts.detail import PaperContextsDetail
from whyperf.engines.contexts.findings import ENGINE
from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.records import Flags
from whyperf.engines.contexts.totals import InstanceTotals
from whyperf.engines.finding import Finding, Place
from whyperf.engines.quantities import seconds
from whyperf.engines.run import Floats


@dataclass(frozen=True)
class PaperContext:
    """A path from the root to a leaf, with its differential cost and the rank of every function on it."""

    node: int
    cost: float
    own: tuple[float, ...]  # latency without callees in the bad run, outermost first
    ranks: tuple[int, ...]


def rank_contexts(contexts: Contexts, base: InstanceTotals, buggy: InstanceTotals, top: int) -> list[PaperContext]:
    """DIFFRANKPATHS: the most added latency first."""
    own_base, own_buggy = (_normalised(contexts, totals) for totals in (base, buggy))
    cost = _along_path(contexts, own_buggy) - np.where(_leaves(contexts, base), _along_path(contexts, own_base), 0.0)
    leaves = np.flatnonzero(_leaves(contexts, buggy))
    order = leaves[np.argsort(-cost[leaves], kind="stable")][:top]
    return [_ranked(contexts, int(node), float(cost[node]), own_buggy) for node in order]


def findings(comparison: ContextsComparison) -> list[Finding]:
    """The hottest function of each of the highest contexts, each function once."""
    good, bad = comparison.instances()
    ranked = rank_contexts(comparison.contexts, good, bad, comparison.settings.ranked)
    total = sum(context.cost for context in ranked if context.cost > 0)
    found: dict[int, Finding] = {}
    for context in ranked:
        path = comparison.contexts.path(context.node)
        hot = path[context.ranks.index(1)]
        function = int(comparison.contexts.function[hot])
        if context.cost > 0 and function not in found:
            found[function] = _finding(comparison, context, hot, context.cost / total, len(found) + 1)
    return list(found.values())


def _normalised(contexts: Contexts, totals: InstanceTotals) -> Floats:
    """LATENCYNORMALIZATION: each context's mean latency without that of its callees."""
    mean = totals.mean()
    callees = np.zeros(len(mean))
    np.add.at(callees, contexts.tree.parent[1:], mean[1:])
    return np.where(totals.count > 0, mean - callees, 0.0)


def _leaves(contexts: Contexts, totals: InstanceTotals) -> Flags:
    seen = totals.count > 0
    calls = np.zeros(len(seen), np.bool_)
    calls[contexts.tree.parent[1:][seen[1:]]] = True
    return seen & ~calls


def _along_path(contexts: Contexts, own: Floats) -> Floats:
    total = own.copy()
    for node, parent in enumerate(contexts.tree.parent.tolist()[1:], 1):
        total[node] += total[parent]
    return total


def _ranked(contexts: Contexts, node: int, cost: float, own: Floats) -> PaperContext:
    path = own[contexts.path(node)]
    ranks = np.empty(len(path), np.int64)
    ranks[np.argsort(-path, kind="stable")] = np.arange(1, len(path) + 1)
    return PaperContext(node, cost, tuple(path.tolist()), tuple(ranks.tolist()))


def _finding(comparison: ContextsComparison, context: PaperContext, hot: int, share: float, rank: int) -> Finding:
    contexts = comparison.contexts
    function = contexts.index.functions[int(contexts.function[hot])]
    layer = comparison.layer(hot)
    return Finding(
        engine=ENGINE,
        function=function.key,
        place=Place(function.file, 0),
        rank=rank,
        score=share,
        share=share,
        path=tuple(contexts.name(node) for node in contexts.path(hot)),
        pattern="external" if layer.external else "unknown",
        why=f"The hottest function of a context whose mean latency grew by {seconds(context.cost)}.",
        detail=PaperContextsDetail(layer=layer, external=layer.external, cost_s=context.cost, own_s=max(context.own)),
    )
