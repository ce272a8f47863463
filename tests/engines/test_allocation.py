"""Every second of the excess is spent once: the fast version against a plain recursive twin, and its promises."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from whyperf.engines.excess.compare import DataEvidence, compare, weigh
from whyperf.engines.run import Run

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
STACKS = st.lists(
    st.tuples(st.lists(NAMES, min_size=1, max_size=5).map(tuple), st.floats(0.02, 5.0)), min_size=1, max_size=12
)


def seconds_by_path(stacks):
    """Direct recursion is one context."""
    times = defaultdict(float)
    for words, seconds in stacks:
        path = tuple(word for place, word in enumerate(words) if place == 0 or words[place - 1] != word)
        times[path] += seconds
    return times


def spend_by_recursion(difference):
    """The rule, word for word, over paths in dictionaries. Without new functions, whose rule is tested apart."""
    paths = {path[:length] for path in difference for length in range(len(path) + 1)} | {()}
    inclusive = {
        path: sum(value for other, value in difference.items() if other[: len(path)] == path) for path in paths
    }
    spent = defaultdict(float)

    def visit(path, budget):
        own = max(0.0, difference.get(path, 0.0))
        children = {child: max(0.0, inclusive[child]) for child in paths if child[:-1] == path and child}
        claims = own + sum(children.values())
        if claims <= 0:
            return
        spent[path] = own * budget / claims
        for child, claim in children.items():
            visit(child, claim * budget / claims)

    visit((), max(0.0, inclusive[()]))
    return spent


def compared(good, bad):
    return compare([Run(recording(good, rate_hz=1))], [Run(recording(bad, rate_hz=1))])


@settings(max_examples=50, deadline=None)
@given(STACKS, STACKS)
def test_equals_the_recursive_twin(good, bad):
    # GIVEN two runs; every function runs in both, so that no path is new
    common = [((name,), 30.0) for name in "abcde"]
    good, bad = [*good, *common], [*bad, *common]
    # WHEN they are compared
    excess = compared(good, bad)
    # THEN each context answers for what the recursive rule says
    before, after = seconds_by_path(good), seconds_by_path(bad)
    difference = {path: after.get(path, 0.0) - before.get(path, 0.0) for path in before.keys() | after.keys()}
    expected = spend_by_recursion(difference)
    tree = excess.costs.tree
    for node in range(1, len(tree)):
        path = tuple(excess.name(int(tree.function[step])) for step in tree.path(node))
        assert np.isclose(excess.spent[node], expected[path], atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(STACKS, STACKS)
def test_budgets_add_up_to_the_roots_excess(good, bad):
    excess = compared(good, bad)
    difference = sum(seconds for _, seconds in bad) - sum(seconds for _, seconds in good)
    assert np.isclose(excess.total_s, max(0.0, difference), atol=1e-6)
    assert np.isclose(sum(account.charged_s for account in excess.accounts), excess.total_s, atol=1e-6)
    assert all(account.charged_s >= 0 for account in excess.accounts)


@settings(max_examples=50, deadline=None)
@given(STACKS, STACKS, st.dictionaries(NAMES, st.floats(0, 1)))
def test_anomalies_move_time_but_never_make_or_lose_any(good, bad, anomaly):
    plain = compared(good, bad)
    keys = {function.key.name: function.key for function in plain.index.functions}
    known = DataEvidence({keys[name]: value for name, value in anomaly.items() if name in keys}, {}, set(), set())
    moved = weigh(compare([Run(recording(good, rate_hz=1))], [Run(recording(bad, rate_hz=1))]), known)
    assert np.isclose(sum(account.charged_s for account in moved.accounts), plain.total_s, atol=1e-6)


def test_an_anomalous_caller_takes_what_its_callees_do_not_explain():
    # GIVEN a hot leaf under a caller whose data went wrong
    good = [(("main", "plan", "walk"), 1.0), (("main", "other"), 1.0)]
    bad = [(("main", "plan", "walk"), 9.0), (("main", "other"), 1.0)]
    key = next(f.key for f in compared(good, bad).index.functions if f.key.name == "plan")
    # WHEN the caller's anomaly is 0.75
    excess = compare([Run(recording(good))], [Run(recording(bad))])
    excess = weigh(excess, DataEvidence({key: 0.75}, {}, set(), set()))
    # THEN it answers for three quarters and the leaf keeps the rest
    charged = {excess.name(account.function): account.charged_s for account in excess.accounts}
    assert np.isclose(charged["plan"], 6.0)
    assert np.isclose(charged["walk"], 2.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(STACKS, min_size=2, max_size=3), st.lists(STACKS, min_size=2, max_size=3), st.randoms())
def test_the_order_of_runs_does_not_matter(good, bad, random):
    def charged(good_runs, bad_runs):
        excess = compare(*([Run(recording(run, rate_hz=1)) for run in runs] for runs in (good_runs, bad_runs)))
        return {excess.name(account.function): account.charged_s for account in excess.accounts}

    first = charged(good, bad)
    random.shuffle(good)
    random.shuffle(bad)
    second = charged(good, bad)
    assert first.keys() == second.keys()
    assert all(np.isclose(first[name], second[name], atol=1e-9) for name in first)


@settings(max_examples=50, deadline=None)
@given(STACKS, STACKS, st.floats(0.1, 1000))
def test_scaling_the_units_scales_seconds_and_no_share(good, bad, scale):
    one, many = (
        compare(*([Run(recording(run, rate_hz=1, units=units))] for run in (good, bad))) for units in (10, 10 * scale)
    )
    assume(one.total_s > 1e-4)  # shares of a rounding error are no shares
    assert np.isclose(one.total_s, many.total_s * scale)
    shares = [{e.name(a.function): a.share for a in e.accounts} for e in (one, many)]
    assert all(np.isclose(shares[0][name], shares[1][name], atol=1e-9) for name in shares[0])
