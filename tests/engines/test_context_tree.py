"""The calling-context tree against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyperf.engines.context_tree import ROOT, ContextTree


@st.composite
def _trees(draw: st.DrawFn) -> ContextTree:
    """Any tree whose parents come before their children, in no other order, over few functions: much recursion."""
    size = draw(st.integers(1, 40))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, size))]
    function = [-1, *(draw(st.integers(0, 5)) for _ in range(1, size))]
    unknown = [False] * size
    return ContextTree(np.array(parent, np.int64), np.array(function, np.int64), unknown, unknown, unknown)


@given(_trees())
def test_outermost_nodes_have_no_caller_of_the_same_function(tree: ContextTree) -> None:
    def is_outermost(node: int) -> bool:
        callers = tree.path(node)[:-1]
        return all(tree.function[caller] != tree.function[node] for caller in callers)

    assert tree.outermost.tolist() == [node for node in range(1, len(tree)) if is_outermost(node)]


@given(_trees(), st.integers(0, 2**32 - 1))
def test_depth_and_sums_over_subtrees(tree: ContextTree, seed: int) -> None:
    own = np.random.default_rng(seed).integers(0, 100, len(tree)).astype(np.float64)
    assert tree.depth.tolist() == [len(tree.path(node)) for node in range(len(tree))]
    below = [[node, *tree.path(node), ROOT] for node in range(len(tree))]
    expected = [sum(own[node] for node in range(len(tree)) if top in below[node]) for top in range(len(tree))]
    assert tree.inclusive(own).tolist() == expected
