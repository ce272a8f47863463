"""Forward relations: how many regions of one class lie directly within each region of another (Perspect, 3.3.1).

In a tree of regions the count of children per instance of the parent normalises itself: no unit of work is needed, and
what changed further up or further down does not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int32s, Ints
from whyperf.engines.relations.changed_relations.changed import Counts
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.executions.tree_passes import children_per_parent, distinct, ordinals, within_same

Edge = tuple[int, int]
"""Classes of parent and child; the parent of a thread's outermost region is -1."""


@dataclass(frozen=True, eq=False)
class Fanout:
    """Edges of one side's tree, numbered, and how many children each parent has along them."""

    edges: dict[Edge, int]
    of_region: Int32s  # the edge that leads to a region
    instances: Ints  # regions by class
    outermost: Bools
    """Regions that do not lie below another one reached by the same edge: recursion is counted once."""
    _first: Ints
    _children: Ints
    _parents: Ints

    def counts(self, edge: Edge) -> Counts:
        """Children per instance of the parent, none included. Empty if the parent was never there."""
        parents = int(self.instances[edge[0]]) if edge[0] >= 0 else 0
        number = self.edges.get(edge)
        if number is None:
            return Counts(np.zeros(min(parents, 1), np.int64), np.full(min(parents, 1), parents, np.int64))
        rows = slice(int(self._first[number]), int(self._first[number + 1]))
        children, times = self._children[rows], self._parents[rows]
        none = parents - int(times.sum())
        if none <= 0:
            return Counts(children, times)
        return Counts(np.concatenate([[0], children]), np.concatenate([[none], times]))

    def weights(self, below: Floats) -> Floats:
        """By edge: how much of the symptom lies below it. `below`: the symptom's inclusive weight by region."""
        chosen = self.outermost
        weight = np.bincount(self.of_region[chosen], weights=below[chosen], minlength=len(self.edges))
        return weight.astype(np.float64, copy=False)


def fanout(trace: ExecutionTrace, classes: int) -> Fanout:
    parent_label = np.where(trace.parent >= 0, trace.label[np.maximum(trace.parent, 0)], -1).astype(np.int64)
    keys, of_region = distinct((parent_label + 1) * classes + trace.label)
    edges = {(int(key) // classes - 1, int(key) % classes): number for number, key in enumerate(keys.tolist())}
    start, order = trace.children
    edge_of, size = children_per_parent(start, order, of_region, max(len(edges), 1))
    largest = int(size.max()) + 1 if len(size) else 1
    histogram, times = np.unique(edge_of.astype(np.int64) * largest + size, return_counts=True)
    return Fanout(
        edges=edges,
        of_region=of_region,
        instances=np.bincount(trace.label, minlength=classes),
        outermost=~within_same(trace.parent, of_region, max(len(edges), 1), start, order),
        _first=np.searchsorted(histogram // largest, np.arange(len(edges) + 1)),
        _children=(histogram % largest).astype(np.int64),
        _parents=times.astype(np.int64),
    )


def beyond(
    trace: ExecutionTrace, edges: Fanout, below: Floats, iterations: Bools, usual: dict[int, float]
) -> dict[int, float]:
    """By edge to an iteration: the symptom's weight in iterations beyond the good runs' mean number, `usual`."""
    ordinal = ordinals(trace.parent, iterations)
    limit = np.full(len(edges.edges), np.inf)
    for edge, mean in usual.items():
        limit[edge] = mean
    late = iterations & edges.outermost & (ordinal > limit[edges.of_region] + 1e-9)
    weight = np.bincount(edges.of_region[late], weights=below[late], minlength=len(edges.edges))
    return {edge: float(weight[edge]) for edge in usual}
