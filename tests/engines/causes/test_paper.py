"""The published algorithms, against a twin written from the paper's pseudo-code and on scripts."""

from __future__ import annotations

import numpy as np
from bench.causes.baselines import critical_path, longest_off_cpu, wake_up_chains
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.causes.walk.test_stall_walk import conversation, label, signalled, two_deep
from whyperf.engines.causes.causal_graph.edges import Edges
from whyperf.engines.causes.diagnosis import Causes, find_causes
from whyperf.engines.causes.paper.beam import search
from whyperf.engines.causes.paper.comparison import PaperMethod
from whyperf.engines.causes.settings import CausesPaperSettings

VERTICES = 11  # among twice as many there are thousands of paths
ANY_VERTEX = st.integers(0, VERTICES - 1)
GRAPHS = st.lists(st.tuples(ANY_VERTEX, ANY_VERTEX, st.sampled_from([-1, 0, 1])), min_size=1, max_size=40)


def edges_of(rows: list[tuple[int, int, int]]) -> Edges:
    """Sources come before their targets, as causes do."""
    chosen = {(min(a, b), max(a, b)): value for a, b, value in rows if a != b}
    ordered = sorted((target, source, value) for (source, target), value in chosen.items())
    target = np.array([one[0] for one in ordered], np.int32)
    return Edges(
        np.array([one[1] for one in ordered], np.int32),
        target,
        np.array([one[2] for one in ordered], np.int8),
        np.zeros(len(ordered), np.int32),
        np.searchsorted(target, np.arange(VERTICES + 1)),
    )


def all_paths(edges: Edges, vertex: int, ends: np.ndarray) -> list[int]:
    """Penalties of every path to an end, by brute force."""
    found = []

    def walk(at: int, penalty: int) -> None:
        rows = edges.into(at)
        if not rows or (ends[at] and at != vertex):
            found.append(penalty)
            return
        for edge in rows:
            walk(int(edges.source[edge]), penalty + 3 * int(edges.strength[edge]) + 2)

    walk(vertex, 0)
    return sorted(found)


@given(GRAPHS, ANY_VERTEX)
@settings(max_examples=150, deadline=None)
def test_a_beam_that_is_wide_enough_finds_the_best_path(rows: list[tuple[int, int, int]], vertex: int) -> None:
    edges = edges_of(rows)
    ends = np.zeros(VERTICES, np.bool_)
    wide = CausesPaperSettings(beam=64, lookback=50)
    paths = search(edges, vertex, ends, wide)
    assert paths[0].penalty == all_paths(edges, vertex, ends)[0]
    assert paths[0].vertices[-1] == vertex


@given(GRAPHS, ANY_VERTEX)
@settings(max_examples=150, deadline=None)
def test_paths_are_real_ordered_and_at_most_as_many_as_the_beam(rows: list[tuple[int, int, int]], vertex: int) -> None:
    edges = edges_of(rows)
    paths = search(edges, vertex, np.zeros(VERTICES, np.bool_))
    value = {(int(s), int(t)): int(v) for s, t, v in zip(edges.source, edges.target, edges.strength, strict=True)}
    assert 1 <= len(paths) <= 5
    assert [path.penalty for path in paths] == sorted(path.penalty for path in paths)
    for path in paths:
        steps = list(zip(path.vertices, path.vertices[1:], strict=False))
        assert path.penalty == sum(3 * value[step] + 2 for step in steps)


def test_without_weak_edges_paths_end_there() -> None:
    edges = edges_of([(0, 1, -1), (1, 2, 1), (2, 3, -1)])
    ends = np.zeros(VERTICES, np.bool_)
    assert search(edges, 3, ends)[0].vertices == (0, 1, 2, 3)
    assert search(edges, 3, ends, weak_edges=False)[0].vertices == (2, 3)


def paper(causes: Causes) -> list[str]:
    method = PaperMethod(causes.roles, causes.normals[0])
    segments = causes.graph.segments
    return [label(causes, int(segments.thread[one.segment])) for one in method.culprits(causes.stalls[0].anomaly)]


def test_the_missing_vertex_is_found_in_the_thread_that_has_it_normally() -> None:
    causes = find_causes(signalled(forgotten=True).made(), [signalled(forgotten=False).made()])
    assert paper(causes)[0] == "p/worker"


def test_a_vertex_that_behaves_differently_is_suspicious() -> None:
    causes = find_causes(two_deep(stalled=True).made(), [two_deep(stalled=False).made()])
    assert set(paper(causes)) & {"server", "back"}


def test_simpler_methods_on_a_busy_server() -> None:
    causes = find_causes(conversation(slow=True).made(), [conversation(slow=False).made()])
    graph, stall = causes.graph, causes.stalls[0]
    assert label(causes, critical_path(graph, stall.anomaly)[0].thread) == "server"
    assert label(causes, longest_off_cpu(graph)[0].thread) == "client"  # the victim itself
    assert label(causes, wake_up_chains(graph)[0].thread) == "server"
