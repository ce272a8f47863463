"""What may be said of few readings, and which functions count as normal and which loops as steady."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.variable_test import VariableStatus, examine_few
from whyperf.recording.names.identity import FunctionKey

WORK = FunctionKey("tool", "work", "")
N = 400
SETTINGS = ValuesSettings()
READINGS = st.lists(st.floats(-1e3, 1e12), min_size=1, max_size=7).map(np.array)
ABOUT_THE_SAME = st.tuples(st.floats(1, 1e9), st.lists(st.floats(1, 1.49), min_size=1, max_size=7)).map(
    lambda both: both[0] * np.array(both[1])
)
ANY = st.one_of(READINGS, ABOUT_THE_SAME)


class TestFewReadings:
    @settings(deadline=None)
    @given(ANY, ANY, st.tuples(st.integers(1, 5), st.integers(1, 5)).filter(lambda runs: min(runs) < 3))
    def test_say_nothing_of_one_or_two_runs_of_a_kind(self, good, bad, runs):
        assert examine_few(good, bad, runs, SETTINGS) is None

    @settings(deadline=None)
    @given(ANY, ANY)
    def test_say_nothing_where_ranges_overlap(self, good, bad):
        if good.min() <= bad.max() and bad.min() <= good.max():
            assert examine_few(good, bad, (3, 3), SETTINGS) is None

    @settings(deadline=None)
    @given(ANY, ANY, st.integers(3, 9))
    def test_tell_only_what_is_steady_and_apart(self, good, bad, runs):
        found = examine_few(good, bad, (runs, runs), SETTINGS)
        low, high = sorted((good, bad), key=np.max)
        steady = all(side.min() >= 0 and side.max() <= 1.5 * side.min() for side in (good, bad))
        assert (found is not None) == (steady and high.min() > 2 * low.max())
        # AND it does not matter which of the two is good
        assert found == examine_few(bad, good, (runs, runs), SETTINGS)

    def compared(self, good, bad, count=3, **more):
        """So many runs of each kind, with two readings in each."""
        sides = [
            [Run(one_function(Read("work", "x", value, **more), samples=N)) for value in [values] * count]
            for values in (good, bad)
        ]
        return compare(*sides)

    def test_a_bound_that_all_runs_share_is_abnormal(self):
        found = self.compared([10, 11], [100, 110], roles="loop")
        (one,) = found.abnormal
        assert (one.dimension, one.p, one.decides) == (Dimension.VALUE, None, True)
        assert found.anomaly == {WORK: 1.0}
        assert one.contrast.read_at[0].line == 20

    @pytest.mark.parametrize("count", [1, 2])
    def test_with_fewer_runs_it_is_not(self, count):
        found = self.compared([10, 11], [100, 110], count)
        assert not found.abnormal
        assert found.outcomes[0].status is VariableStatus.FEW

    @pytest.mark.parametrize(
        ("good", "bad", "more"),
        [
            ([10, 10], [15, 15], {}),  # not twice as much
            ([10, 90], [300, 310], {}),  # of all sizes
            ([-20, -20], [300, 300], {}),  # signs have no factors
            ([0, 0], [(2 << 56) | 5, (2 << 56) | 5], {"kind": "pointer"}),  # no number
        ],
    )
    def test_nor_is_anything_less_clear(self, good, bad, more):
        assert not self.compared(good, bad, **more).abnormal


def judged(**changed):
    """work's `count` steers a loop and its `flag` a branch; the changed ones are elsewhere in the bad runs."""

    def made(rng, side):
        reads = []
        for name, roles in (("count", "loop|condition"), ("flag", "condition"), ("text", "argument")):
            low = changed.get(name, 0) * side
            reads.append(Read("work", name, rng.integers(low, low + 50, N), roles=roles))
        return one_function(*reads, samples=N)

    sides = [[Run(made(np.random.default_rng((side, seed)), side)) for seed in range(3)] for side in (0, 1)]
    return compare(*sides)


class TestNormalAndSteady:
    """A function that decides as it did is probably called as it was, and so are its callees."""

    def test_nothing_changed(self):
        found = judged()
        assert WORK in found.normal
        assert WORK in found.steady

    @pytest.mark.parametrize("name", ["count", "flag"])
    def test_one_changed_decision_is_enough_to_be_neither(self, name):
        found = judged(**{name: 400})
        assert WORK in found.anomaly
        assert WORK not in found.normal
        assert WORK not in found.steady

    def test_what_is_passed_on_decides_elsewhere(self):
        found = judged(text=400)
        assert [(one.variable.name, one.decides) for one in found.abnormal] == [("text", False)]
        assert not found.anomaly
        assert WORK in found.normal

    def test_without_source_no_loop_is_known_to_be_steady(self):
        sides = [
            [
                Run(one_function(Read("work", "x", np.random.default_rng((side, seed)).integers(0, 9, N)), samples=N))
                for seed in range(3)
            ]
            for side in (0, 1)
        ]
        found = compare(*sides)
        assert WORK in found.normal
        assert not found.steady

    def test_what_was_read_too_seldom_shows_nothing(self):
        few = [[Run(one_function(Read("work", "x", [5, 6], roles="loop"), samples=N))] for _ in range(2)]
        found = compare(*few)
        assert not found.normal
        assert not found.steady

    def test_values_that_only_stay_longer_count_for_the_functions_own_code(self):
        # GIVEN a value that changes as it did, but six times as seldom: a slower callee does that as well
        def made(seed, mean):
            moves = np.random.default_rng(seed).random(N) < 1 / mean
            return Run(one_function(Read("work", "x", np.cumsum(moves) % 7, roles="loop"), samples=N))

        found = compare([made(seed, 2) for seed in range(3)], [made(seed, 12) for seed in range(9, 12)])
        assert WORK in found.own_anomaly
        assert WORK not in found.anomaly


@pytest.mark.parametrize(
    ("type_", "found"), [("__ino_t", 0), ("const pid_t", 0), ("time_t", 0), ("size_t", 1), ("int", 1)]
)
def test_names_and_moments_are_no_quantities(type_, found):
    # GIVEN one number in all good runs and another in all bad ones, as two files have
    good, bad = (
        [Run(one_function(Read("work", "st.st_ino", np.full(N, value), type=type_), samples=N)) for _ in range(3)]
        for value in (2_263_366, 2_263_368)
    )
    assert len(compare(good, bad).abnormal) == found
