"""One calling-context tree of functions in all layers for all runs of a comparison (the paper's Algorithm 1).

Recordings hold their stacks interned by code address; a context is a path of functions, whatever the call site. As
everywhere else inlined functions have nodes of their own and direct recursion is one node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.context_tree import ContextTree, TreeBuilder
from whyperf.engines.contexts.records import Int32s
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Ints, Run


@dataclass(frozen=True, eq=False)
class Tree:
    """Node 0 is the root; parents come before children."""

    parent: Int32s
    depth: Int32s


@dataclass(frozen=True, eq=False)
class Contexts:
    index: FunctionIndex
    shape: ContextTree
    tree: Tree  # the same, for compiled code
    function: Ints  # by node; -1 for the root
    node_of_stack: dict[Run, Ints]

    def __len__(self) -> int:
        return len(self.function)

    def path(self, node: int) -> list[int]:
        """Nodes from the outermost function down to `node`."""
        return self.shape.path(node)

    def name(self, node: int) -> str:
        return self.index.functions[int(self.function[node])].key.name


def index_contexts(index: FunctionIndex) -> Contexts:
    builder = TreeBuilder(index, folded=False)
    runs = (*index.bad, *index.good)
    node_of_stack = {run: builder.add(run, np.arange(len(run.stack_parent))) for run in runs}
    shape = builder.tree()
    tree = Tree(shape.parent.astype(np.int32), shape.depth.astype(np.int32))
    return Contexts(index, shape, tree, shape.function, node_of_stack)
