"""Random programs: who calls whom how often, so that recursion always ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from whyperf.engines.call_counts.call_graph import CallGraph, Floats
from whyperf.engines.call_counts.parameters import Parameters


@dataclass(frozen=True, eq=False)
class Pair:
    graph: CallGraph
    baseline: Parameters
    slow: Parameters


def matrix(graph: CallGraph, calls: Floats) -> Floats:
    dense = np.zeros((graph.functions, graph.functions))
    np.add.at(dense, (graph.caller, graph.callee), calls)
    return dense


def cost(graph: CallGraph, given: Parameters) -> float:
    """T by one dense solve: the brute-force twin."""
    dense = np.eye(graph.functions) - matrix(graph, given.calls)
    return float(np.linalg.solve(dense.T, given.outside) @ given.self_cost)


def side(rng: np.random.Generator, graph: CallGraph, zeros: float) -> Parameters:
    def drawn(size: int) -> Floats:
        numbers = 10.0 ** rng.uniform(-1, 1.5, size)
        numbers[rng.random(size) < zeros] = 0.0
        return numbers

    calls = drawn(len(graph.caller))
    radius = float(np.abs(np.linalg.eigvals(matrix(graph, calls))).max(initial=0.0))
    if radius > 0.9:
        calls *= 0.9 / radius
    outside = drawn(graph.functions) * 0.0
    outside[0] = 1.0 + float(rng.integers(0, 3))
    return Parameters(calls, drawn(graph.functions), outside)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    functions = draw(st.integers(1, 7))
    sites = draw(st.integers(0, 14))
    graph = CallGraph(functions, rng.integers(0, functions, sites), rng.integers(0, functions, sites))
    zeros = draw(st.sampled_from([0.0, 0.2, 0.6]))
    return Pair(graph, side(rng, graph, zeros), side(rng, graph, zeros))
