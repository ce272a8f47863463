"""The published calibration, on the numbers of its own text."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.made import recording
from tests.engines.values.made import Read, one_function, with_values
from whyperf.engines.run import Run
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.paper.costs import history_discount
from whyperf.engines.values.paper.findings import findings
from whyperf.engines.values.paper.patterns import abnormal_samples, classify
from whyperf.engines.values.paper.ranking import rank
from whyperf.engines.values.settings import PaperSettings

N = 400


def made(values, **more):
    return Run(one_function(Read("work", "x", values, **more), samples=N))


def ranked(good, bad, **more):
    rng = np.random.default_rng(1)
    return rank([made(good(rng), **more)], [made(bad(rng), **more)])


def between(low, high):
    return lambda rng: rng.integers(low, high, N)


def stays(mean):
    return lambda rng: np.cumsum(rng.random(N) < 1 / mean) % 7


def of(ranking, name):
    return next(one for one in ranking.functions if one.function.name == name)


def test_similar_values_get_the_default_discount():
    one = of(ranked(between(0, 50), between(0, 50)), "work")
    assert (one.discount, one.raw_s) == (0.8, pytest.approx(N / 200))
    assert one.cost_s == pytest.approx(0.2 * N / 200)


def test_values_with_nothing_in_common_get_none():
    one = of(ranked(between(0, 50), between(60, 90)), "work")
    assert (one.discount, one.cost_s) == (0.0, pytest.approx(N / 200))
    assert one.of_variable.dimension is Dimension.VALUE


def test_a_caller_costs_as_much_as_the_samples_in_which_its_variables_were_read():
    # GIVEN main, never on top of the stack, with a variable that is read in every sample
    def side(seed):
        values = np.random.default_rng(seed).integers(0, 9, N)
        stacks = [(("main@5", "work@20"), N / 200)]
        return Run(with_values(recording(stacks), Read("main", "n", values)))

    ranking = rank([side(1)], [side(2)])
    # THEN its variable-based cost is that of its callee; and the callee, without variables, is ranked by history
    assert of(ranking, "main").raw_s == pytest.approx(N / 200)
    assert of(ranking, "work").of_variable is None


def test_deeper_frames_than_the_paper_unwinds_are_not_read():
    stack = ("main@1", "a@2", "b@3", "c@4", "d@5")
    values = np.arange(N)
    side = [Run(with_values(recording([(stack, N / 200)]), Read("main", "n", values), Read("a", "m", values)))]
    ranking = rank(side, side)
    assert {one.function.name for one in ranking.functions} == {"a", "d"}


def test_pointers_are_judged_by_processing_cost_only():
    heap = 2 << 56

    def pointed(mean):
        return lambda rng: heap | stays(mean)(rng)

    one = of(ranked(pointed(2), pointed(20), kind="pointer"), "work")
    assert one.of_variable.dimension is Dimension.DURATION
    assert one.of_variable.anomalous


def test_a_global_is_attributed_to_where_it_was_sampled():
    def side(value):
        stacks = [(("main@5", "work@20"), 1.0), (("main@6", "rest@30"), 1.0)]
        return Run(
            with_values(
                recording(stacks), Read("", "limit", np.random.default_rng(value).integers(value, value + 9, N))
            )
        )

    ranking = rank([side(5)], [side(500)])
    assert of(ranking, "work").discount == of(ranking, "rest").discount == 0.0


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ([[9, 5]], [[5, 9]], 1.0),
        ([[5, 9]], [[9, 5]], 0.0),
        ([[9, 5], [5, 9]], [[5, 9]], 0.5),
        ([[0, 9]], [[9, 5]], 0.0),
    ],
)
def test_the_history_discount_counts_in_how_many_pairs_it_ranked_higher(good, bad, expected):
    profiles = [[np.array(one, float) for one in side] for side in (good, bad)]
    assert history_discount(profiles[0], profiles[1], 0, PaperSettings()) == expected


@pytest.mark.parametrize(
    ("roles", "good", "bad", "pattern"),
    [
        ("loop", stays(2), stays(20), "missing-constraint"),
        ("loop", between(0, 50), between(60, 90), "scalability"),
        ("condition", between(0, 50), between(60, 90), "wrong-constraint"),
        ("argument", between(0, 50), between(60, 90), "unknown"),
    ],
)
def test_rules_one_to_three(roles, good, bad, pattern):
    assert classify(ranked(good, bad, roles=roles), 0) == pattern


def test_rule_four_a_normal_function_without_basic_variables():
    assert classify(ranked(lambda rng: np.full(N, 5), lambda rng: np.full(N, 5), kind="pointer"), 0) == "scalability"


def test_abnormal_values_and_their_place():
    ranking = ranked(between(0, 50), between(40, 90), roles="loop")
    found = abnormal_samples(ranking, ranking.functions[0])
    assert found.normal == (0, 49)
    assert found.abnormal == (50, 89)
    assert (found.read_at[0].line, found.read_at[0].block) == (20, 2)
    finding = findings(ranking)[0]
    assert (finding.rank, finding.pattern, finding.place.line) == (1, "scalability", 20)
    assert "50 .. 89, normally 0 .. 49" in finding.why
