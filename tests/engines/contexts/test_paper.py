"""Algorithm 3 against a plain version of the paper's text, on trees of random stories."""

from __future__ import annotations

from collections import defaultdict

import pytest
from bench.contexts.latencies import infer
from hypothesis import given, settings

from tests.engines.contexts.traced import Thread, ran, slept, traced
from tests.engines.contexts.true_calls import as_thread, stories
from whyperf.engines.contexts.compare import compare
from whyperf.engines.contexts.paper import findings, rank_contexts
from whyperf.engines.run import Run

Path = tuple[str, ...]


def means(recording) -> dict[Path, float]:
    """Mean conservative latency by path, in seconds."""
    instances = infer(recording)
    found = defaultdict(list)
    for node, latency in zip(instances.node.tolist(), instances.conservative.tolist(), strict=True):
        found[tuple(name for _, name in instances.path(node))].append(latency / 1e9)
    return {path: sum(latencies) / len(latencies) for path, latencies in found.items()}


def without_callees(mean: dict[Path, float]) -> dict[Path, float]:
    """LATENCYNORMALIZATION."""
    return {
        path: value - sum(other for callee, other in mean.items() if callee[:-1] == path)
        for path, value in mean.items()
    }


def leaves(mean: dict[Path, float]) -> set[Path]:
    """GETPATHSET."""
    return {path for path in mean if not any(other[:-1] == path for other in mean)}


def plain_ranking(base, buggy) -> dict[Path, float]:
    """DIFFRANKPATHS: every path of the buggy run with its cost."""
    mean = [means(one) for one in (base, buggy)]
    own = [without_callees(one) for one in mean]
    costs = {}
    for path in leaves(mean[1]):
        steps = [path[: length + 1] for length in range(len(path))]
        cost = sum(own[1][step] for step in steps)
        if path in leaves(mean[0]):
            cost -= sum(own[0][step] for step in steps)
        costs[path] = cost
    return costs


@pytest.mark.thorough
@settings(deadline=None, max_examples=60)
@given(stories(), stories())
def test_contexts_rank_as_the_text_says(good, bad):
    # GIVEN a base run and a buggy one
    base, buggy = (traced([as_thread(story)], sample_ms=2, offset_ms=1) for story in (good, bad))
    expected = plain_ranking(base, buggy)
    # WHEN contexts are ranked
    comparison = compare([Run(base)], [Run(buggy)])
    assert comparison is not None
    contexts = comparison.contexts
    ranked = rank_contexts(contexts, *comparison.instances(), top=1000)
    # THEN every path has the cost that the text gives it, the highest first
    costs = {tuple(contexts.name(node) for node in contexts.path(one.node)): one.cost for one in ranked}
    assert costs == pytest.approx(expected, abs=1e-12)
    assert [one.cost for one in ranked] == sorted((one.cost for one in ranked), reverse=True)
    # and every function on it the rank of its own latency
    for one in ranked:
        order = sorted(range(len(one.own)), key=lambda at: (-one.own[at], at))
        assert [one.ranks[at] for at in order] == list(range(1, len(order) + 1))


def test_findings_name_the_hottest_function_of_each_context():
    def run(delay):
        return traced([Thread([ran("main a", 30), slept("main b", delay), ran("main a", 30)], main=True)])

    comparison = compare([Run(run(5))], [Run(run(500))])
    assert comparison is not None
    first = findings(comparison)[0]
    # The paper's hot function is where the latency is, mechanism or not.
    assert first.function.name == "hrtimer_nanosleep"
    assert (first.detail.layer.value, first.rank) == ("kernel", 1)
