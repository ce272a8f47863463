"""Section 3.4 of vProf's text, rule by rule, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from tests.engines.made import recording
from tests.engines.values.made import Read, one_function, with_values
from whyperf.engines.run import Run
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.paper.costs import history_discount
from whyperf.engines.values.paper.discounts import Discount, dimensions, in_dimension
from whyperf.engines.values.paper.ranking import rank
from whyperf.engines.values.readings import Readings
from whyperf.engines.values.settings import ValuesPaperSettings

N = 400
SETTINGS = ValuesPaperSettings()


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


def zeros_and_ones(zeros, of=200):
    return np.array([0] * zeros + [1] * (of - zeros))


def by_value(good_zeros, bad_zeros, count):
    return in_dimension(zeros_and_ones(good_zeros, count), zeros_and_ones(bad_zeros, count), Dimension.VALUE, SETTINGS)


def test_the_anderson_darling_test_decides_at_five_percent():
    # 50 of 100 zeros against 39: standardised 1.906, below 1.961; against 38: 2.529
    assert by_value(50, 39, 100) == Discount(0.8, Dimension.VALUE, False)
    # one minus the distance: sqrt(1 - (sqrt(.5 * .38) + sqrt(.5 * .62))) = 0.0856
    found = by_value(50, 38, 100)
    assert found.anomalous
    assert found.ratio == pytest.approx(0.9144, abs=1e-4)


def test_the_discount_is_one_minus_the_hellinger_distance():
    # sqrt(.5 * .1) + sqrt(.5 * .9) = 0.8944; sqrt(1 - 0.8944) = 0.3249
    assert by_value(100, 20, 200).ratio == pytest.approx(0.6751, abs=1e-4)


def test_a_discount_below_the_valid_one_is_none():
    # 2 * sqrt(.01 * .99) = 0.199, distance 0.895; 2 * sqrt(.005 * .995) = 0.141, distance 0.927
    assert by_value(198, 2, 200).ratio == pytest.approx(0.1050, abs=1e-4)
    assert by_value(199, 1, 200) == Discount(0.0, Dimension.VALUE, True)


def test_the_three_dimensions_of_the_texts_example():
    values = np.array([3, 6, 6, 6, 6, 9])
    anything = {one.name: np.zeros(6, np.int64) for one in fields(Readings)}
    found = dimensions(Readings(**{**anything, "raw": values, "starts": np.array([0, 6])}), ValueKind.SIGNED)
    assert found[Dimension.VALUE].tolist() == [3, 6, 6, 6, 6, 9]
    assert found[Dimension.DELTA].tolist() == [3, 0, 0, 0, 3]
    assert found[Dimension.DURATION].tolist() == [1, 4, 1]


def test_the_lowest_of_the_three_dimensions_counts():
    # GIVEN as many zeros as ones on both sides, in turns or twenty in a row
    one = of(ranked(lambda _: np.arange(N) % 2, lambda _: np.arange(N) // 20 % 2), "work")
    # THEN values get 0.8, deltas 1 - sqrt(1 - 2 * sqrt(.5 * .024)) = 0.12, and stays of 1 and 20 share nothing
    assert one.of_variable == Discount(0.0, Dimension.DURATION, True)


def test_similar_values_get_the_default_discount():
    one = of(ranked(between(0, 50), between(0, 50)), "work")
    assert (one.discount, one.raw_s) == (0.8, pytest.approx(N / 200))
    assert one.cost_s == pytest.approx(0.2 * N / 200)


def test_values_with_nothing_in_common_get_none():
    one = of(ranked(between(0, 50), between(60, 90)), "work")
    assert (one.discount, one.cost_s) == (0.0, pytest.approx(N / 200))
    assert one.of_variable.dimension is Dimension.VALUE


def test_a_function_gets_the_lowest_discount_of_its_variables():
    def side(value):
        same, other = np.arange(N) % 5, np.arange(N) % 5 + value
        return Run(one_function(Read("work", "same", same), Read("work", "other", other), samples=N))

    ranking = rank([side(0)], [side(100)])
    one = of(ranking, "work")
    assert (one.discount, ranking.variables[one.variable].name) == (0.0, "other")


def test_what_is_unique_to_the_buggy_execution_gets_no_discount():
    def side(*functions):
        stacks = [(("main@5", "work@20"), 1.0), (("main@5", "rest@30"), 1.0)]
        return Run(with_values(recording(stacks), *(Read(one, "x", np.arange(200) % 9) for one in functions)))

    ranking = rank([side("rest")], [side("rest", "work")])
    assert (of(ranking, "work").discount, of(ranking, "rest").discount) == (0.0, 0.8)


def test_pointers_are_judged_by_processing_cost_only():
    heap = 2 << 56

    def pointed(mean):
        return lambda rng: heap | stays(mean)(rng)

    one = of(ranked(pointed(2), pointed(20), kind="pointer"), "work")
    assert one.of_variable.dimension is Dimension.DURATION
    assert one.of_variable.anomalous


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


def test_several_readings_at_one_pc_of_one_sample_are_one():
    # GIVEN two variables of a function that called itself twice from the same line: three frames, two PCs
    stacks = [(("main@5", "walk@20", "walk@20", "walk@30"), 1.0)]
    walk = recording(stacks)
    values = np.arange(200) % 9
    read = with_values(walk, Read("walk", "a", values), Read("walk", "b", values))
    deeper = read.table("values").to_pylist()
    frame = next(row["frame"] for row in walk.table("frames").to_pylist() if row["line"] == 20)
    for row in list(deeper):
        deeper += [{**row, "depth": depth, "frame": frame} for depth in (1, 2)]
    deeper.sort(key=lambda row: (row["variable"], row["sample"], row["depth"]))
    table = read.table("values")
    read.tables["values"] = type(table).from_pylist(deeper, schema=table.schema)
    # THEN a sample counts twice, not three or six times
    assert of(rank([Run(read)], [Run(read)]), "walk").raw_s == pytest.approx(2.0)


def test_readings_of_globals_are_value_samples_as_well():
    # GIVEN work, read as a caller in one second by its local, and in another at its own PCs by a global only
    stacks = [(("main@5", "work@20", "leaf@30"), 1.0), (("main@5", "work@21"), 1.0)]
    values = np.arange(N) % 9
    side = Run(with_values(recording(stacks), Read("work", "n", values[:200]), Read("", "limit", values)))
    # THEN its variable-based cost is two seconds, its PC cost one
    ranking = rank([side], [side])
    assert (of(ranking, "work").raw_s, of(ranking, "leaf").raw_s) == (pytest.approx(2.0), pytest.approx(1.0))


def test_deeper_frames_than_the_paper_unwinds_are_not_read():
    stack = ("main@1", "a@2", "b@3", "c@4", "d@5")
    values = np.arange(N)
    side = [Run(with_values(recording([(stack, N / 200)]), Read("main", "n", values), Read("a", "m", values)))]
    ranking = rank(side, side)
    assert {one.function.name for one in ranking.functions} == {"a", "d"}


def test_a_global_is_attributed_to_where_it_was_sampled():
    def side(value):
        stacks = [(("main@5", "work@20"), 1.0), (("main@6", "rest@30"), 1.0)]
        limit = np.random.default_rng(value).integers(value, value + 9, N)
        return Run(with_values(recording(stacks), Read("", "limit", limit)))

    ranking = rank([side(5)], [side(500)])
    assert of(ranking, "work").discount == of(ranking, "rest").discount == 0.0


def test_a_local_is_attributed_to_the_function_in_which_it_is_defined():
    # GIVEN probe, once called and once inlined into work, where its local is read as well
    def side(value):
        stacks = [(("main@5", "probe@20"), 1.0), (("main@6", "work@30", "~probe@21"), 1.0)]
        values = np.arange(N) % 5 + value
        return Run(with_values(recording(stacks), Read("probe", "n", values)))

    ranking = rank([side(0)], [side(100)])
    # THEN work has no variable of its own: history is all there is, and there work ranks as it did
    assert of(ranking, "probe").of_variable.anomalous
    assert of(ranking, "work").of_variable is None


def test_a_local_of_a_function_that_exists_inlined_only_belongs_to_whoever_holds_it():
    def side(value):
        values = np.arange(200) % 5 + value
        return Run(with_values(recording([(("main@6", "work@30", "~probe@21"), 1.0)]), Read("probe", "n", values)))

    assert of(rank([side(0)], [side(100)]), "work").of_variable.anomalous


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ([[9, 5]], [[5, 9]], 1.0),
        ([[5, 9]], [[9, 5]], 0.0),
        ([[9, 5], [5, 9]], [[5, 9]], 0.5),
        ([[0, 9]], [[9, 5]], 0.0),  # nothing to compare with
        ([[7, 7]], [[7, 7]], 0.0),  # ranks as high
        ([[9, 5]] * 2 + [[5, 9]] * 3, [[5, 9]] * 5, 0.4),  # 10 of 5 x 5 comparisons
        ([[9, 5]] + [[5, 9]] * 4, [[5, 9]] * 2 + [[9, 5]] * 3, 0.0),  # 2 of 25: below the valid discount
        ([[9, 5], [0, 9]], [[5, 9], [0, 9]], 1.0),  # one comparison: in the others it did not run
    ],
)
def test_the_history_discount_counts_in_how_many_pairs_it_ranked_higher(good, bad, expected):
    profiles = [[np.array(one, float) for one in side] for side in (good, bad)]
    assert history_discount(profiles[0], profiles[1], 0, SETTINGS) == expected
