"""Sums over one function's contexts, with what they call, under any context."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from whyperf.engines.context_tree import ROOT, ContextTree
from whyperf.engines.run import Floats


@dataclass
class _Contexts:
    """One function's outermost contexts in depth-first order, so that those under any context are a slice."""

    place: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)


class Subtrees:
    def __init__(self, tree: ContextTree, inclusive: Mapping[str, Floats]) -> None:
        """`inclusive`: by name, sums over contexts with what they call."""
        self._first, self._after = _depth_first(tree.parent.tolist())
        contexts: defaultdict[int, _Contexts] = defaultdict(_Contexts)
        for node in sorted(tree.outermost.tolist(), key=self._first.__getitem__):
            found = contexts[int(tree.function[node])]
            found.place.append(self._first[node])
            found.node.append(node)
        self._places = {function: found.place for function, found in contexts.items()}
        self._sums = {
            name: {
                function: np.concatenate(([0.0], np.cumsum(column[found.node]))) for function, found in contexts.items()
            }
            for name, column in inclusive.items()
        }

    def inside(self, name: str, function: int, context: int) -> float:
        """What the function takes under the context."""
        places, sums = self._places[function], self._sums[name][function]
        start, stop = (bisect_left(places, place) for place in (self._first[context], self._after[context]))
        return float(sums[stop] - sums[start])

    def outside(self, name: str, function: int, context: int) -> float:
        return float(self._sums[name][function][-1]) - self.inside(name, function, context)


def _depth_first(parents: list[int]) -> tuple[list[int], list[int]]:
    """Places of contexts: those under a context are at the first up to the second."""
    size = [1] * len(parents)
    for node in range(len(parents) - 1, ROOT, -1):
        size[parents[node]] += size[node]
    first, free = [0] * len(parents), [1] * len(parents)
    for node in range(ROOT + 1, len(parents)):
        first[node] = free[parents[node]]
        free[parents[node]] += size[node]
        free[node] = first[node] + 1
    return first, [at + below for at, below in zip(first, size, strict=True)]
