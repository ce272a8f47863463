"""One calling-context tree over source-level functions for all runs of a comparison.

Inlined functions stand in it under their own names and direct recursion is one node, so that builds which inline
differently have the same tree. In the *program view* code of system libraries and headers is folded into the nearest
caller of the program's own; the *full view* keeps every function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Ints, Run, sums

ROOT = 0


@dataclass(frozen=True)
class ContextTree:
    """Parents come before children; node 0 is the root, which belongs to no function."""

    parent: Ints
    function: Ints
    called_in_loop: list[bool]  # the caller calls it from a loop, its own or a library's, or recursively
    loops: list[bool]  # its own code was seen in a loop
    known: list[bool]  # of all of its code that was seen it is known whether it is in a loop

    def __len__(self) -> int:
        return len(self.parent)

    def path(self, node: int) -> list[int]:
        """Nodes from the outermost function down to `node`."""
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = int(self.parent[node])
        return nodes[::-1]

    @cached_property
    def depth(self) -> Ints:
        depth = [0] * len(self)
        for node, parent in enumerate(self.parent.tolist()):
            if node != ROOT:
                depth[node] = depth[parent] + 1
        return np.array(depth, np.int64)

    def inclusive(self, own: Floats) -> Floats:
        """Sums over subtrees."""
        total = own.copy()
        for level in range(int(self.depth.max(initial=0)), 0, -1):
            nodes = np.flatnonzero(self.depth == level)
            total += sums(self.parent[nodes], total[nodes], len(self))
        return total

    @cached_property
    def outermost(self) -> Ints:
        """Nodes with no caller of the same function: what a function's inclusive time is the sum of."""
        functions = self.function.tolist()
        children: list[list[int]] = [[] for _ in functions]
        for node, parent in enumerate(self.parent.tolist()):
            if node != ROOT:
                children[parent].append(node)
        chosen: list[int] = []
        on_path: set[int] = set()
        to_do = children[ROOT]
        while to_do:
            node = to_do.pop()
            if node < 0:  # all below the node were visited
                on_path.discard(functions[~node])
            elif functions[node] not in on_path:
                chosen.append(node)
                on_path.add(functions[node])
                to_do.append(~node)
                to_do += children[node]
            else:
                to_do += children[node]
        return np.sort(np.array(chosen, np.int64))


class TreeBuilder:
    """Grows one tree from many runs' stacks."""

    def __init__(self, index: FunctionIndex, *, folded: bool) -> None:
        self._index = index
        self._keeps = index.own if folded else [True] * len(index.functions)
        self._parent = [-1]
        self._function = [-1]
        self._in_loop = [False]
        self._loops = [False]
        self._known = [True]
        self._recursive: set[int] = set()
        self._children: dict[tuple[int, int], int] = {}

    def add(self, run: Run, stacks: Ints) -> Ints:
        """The tree's node for each of the run's stacks."""
        needed = _with_callers(run.stack_parent, stacks)
        function_of = self._index.of_frame[run]
        chains, frames, parents = run.frame_chain, run.stack_frame, run.stack_parent
        keeps = self._keeps
        in_loop = run.frame_in_loop
        node_of: dict[int, int] = {-1: ROOT}
        looping: dict[int, bool] = {-1: False}  # whether the code at the node's innermost frame is repeated
        # Until a stack reaches the program's own code there is nothing to fold into: remembered, used if it ends so.
        outside: dict[int, tuple[int, ...]] = {-1: ()}
        for stack in needed:
            node, loops, strangers = node_of[parents[stack]], looping[parents[stack]], outside[parents[stack]]
            for place, frame in enumerate(chains[frames[stack]]):
                function = function_of[frame]
                if keeps[function]:
                    node = self._child(node, function, loops, inlined=place > 0)
                    loops = in_loop[frame] == 1
                    self._known[node] &= in_loop[frame] >= 0
                else:
                    loops |= in_loop[frame] == 1
                    if node == ROOT:
                        strangers = (*strangers, function)
            node_of[stack], looping[stack], outside[stack] = node, loops, strangers
        nodes = [self._settle(node_of[stack], outside[stack]) for stack in stacks.tolist()]
        for node, stack in zip(nodes, stacks.tolist(), strict=True):
            self._loops[node] |= looping[stack]
        return np.array(nodes, np.int64)

    def tree(self) -> ContextTree:
        called = [loops or self._parent[node] in self._recursive for node, loops in enumerate(self._in_loop)]
        return ContextTree(
            np.array(self._parent, np.int64), np.array(self._function, np.int64), called, self._loops, self._known
        )

    def _settle(self, node: int, strangers: tuple[int, ...]) -> int:
        if node == ROOT:
            for function in strangers:
                node = self._child(node, function, loops=False)
        return node

    def _child(self, node: int, function: int, loops: bool, *, inlined: bool = False) -> int:
        if self._function[node] == function:
            # Compilers split functions, and inline one part into the other: that is no call.
            if not inlined:
                self._recursive.add(node)
            return node
        child = self._children.setdefault((node, function), len(self._parent))
        if child == len(self._parent):
            self._parent.append(node)
            self._function.append(function)
            self._in_loop.append(False)
            self._loops.append(False)
            self._known.append(True)
        self._in_loop[child] |= loops
        return child


def _with_callers(parents: list[int], stacks: Ints) -> list[int]:
    needed = bytearray(len(parents))
    for stack in stacks.tolist():
        node = stack
        while node >= 0 and not needed[node]:
            needed[node] = 1
            node = parents[node]
    return [node for node, wanted in enumerate(needed) if wanted]
