"""From single activations to the calling-context tree of a sketch: columns in, columns out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_EXACT_BITS = 8


@dataclass(frozen=True, eq=False)
class CallContexts:
    """Parents come before children. A function that calls itself, even through others, keeps its first context."""

    of_activation: Ints
    parent: Ints
    function: Ints


@dataclass(frozen=True, eq=False)
class Fanouts:
    context: Ints
    times: Ints
    activations: Ints


def calling_contexts(parent: Ints, function: Ints) -> CallContexts:
    """`parent`: the activation around each, an earlier row, or -1."""
    context = np.full(len(parent), -1, np.int64)
    tree = _Tree()
    bound = int(function.max(initial=0)) + 1
    depth = _depths(parent)
    order = np.argsort(depth, kind="stable")
    starts = np.searchsorted(depth[order], np.arange(int(depth.max(initial=-1)) + 2))
    for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        rows = order[first:end]
        above = np.where(parent[rows] >= 0, context[parent[rows]], -1)
        pairs, which = np.unique((above + 1) * bound + function[rows], return_inverse=True)
        found = [tree.called(int(pair) // bound - 1, int(pair) % bound) for pair in pairs]
        context[rows] = np.array(found, np.int64)[which]
    return CallContexts(context, np.array(tree.parent, np.int64), np.array(tree.function, np.int64))


class _Tree:
    def __init__(self) -> None:
        self.parent: list[int] = []
        self.function: list[int] = []
        self._known: dict[tuple[int, int], int] = {}

    def called(self, context: int, function: int) -> int:
        """The context of a function called in a context."""
        key = (context, function)
        if key not in self._known:
            self._known[key] = self._recurred(context, function)
        return self._known[key]

    def _recurred(self, context: int, function: int) -> int:
        above = context
        while above >= 0:
            if self.function[above] == function:
                return above
            above = self.parent[above]
        self.parent.append(context)
        self.function.append(function)
        return len(self.parent) - 1


def _depths(parent: Ints) -> Ints:
    """How many rows are above each: by leaps that double."""
    above = parent.copy()
    depth = (above >= 0).astype(np.int64)
    while (inside := above >= 0).any():
        depth[inside] += depth[above[inside]]
        above[inside] = above[above[inside]]
    return depth


def fanouts(parent: Ints, contexts: CallContexts) -> Fanouts:
    """How often one activation of the caller called into each context; recursive calls are not among them."""
    context = contexts.of_activation
    called = np.flatnonzero(parent >= 0)
    called = called[contexts.parent[context[called]] == context[parent[called]]]
    count = len(contexts.parent)
    pairs, times = np.unique(parent[called] * count + context[called], return_counts=True)
    rounded = _rounded(times.astype(np.int64))
    bound = int(rounded.max(initial=0)) + 1
    kinds, activations = np.unique((pairs % max(count, 1)) * bound + rounded, return_counts=True)
    return Fanouts(kinds // bound, kinds % bound, activations.astype(np.int64))


def _rounded(times: Ints) -> Ints:
    """Large numbers to eight binary digits, so that few of them are different."""
    digits = np.maximum(np.ceil(np.log2(times + 1)).astype(np.int64) - _EXACT_BITS, 0)
    return ((times + (np.int64(1) << digits >> 1)) >> digits) << digits
