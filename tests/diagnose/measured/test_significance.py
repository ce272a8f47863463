"""Three conditions before a measure counts as grown, and their chance of passing by luck."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from whyperf.diagnose.measured.significance import Direction, Measure, judge, pooled_spread, runs_needed
from whyperf.diagnose.settings import DiagnoseSettings, Floors
from whyperf.engines.student_t import student_99

FLOORS = Floors(relative=0.05, single_relative=0.35)
TIMES = st.lists(st.floats(0.1, 100), min_size=1, max_size=5).map(tuple)


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 10, 11, 15, 30, 100])
def test_students_quantile_equals_scipys(freedom):
    assert student_99(freedom) == pytest.approx(stats.t.ppf(0.99, freedom), rel=1e-3)


@settings(deadline=None)
@given(TIMES, TIMES)
def test_grown_means_separated_and_above_the_floor(good, bad):
    if judge(Measure("cpu_s", good, bad), FLOORS).change is Direction.GREW:
        assert min(bad) > max(good)
        assert np.mean(bad) >= 1.05 * np.mean(good)


@settings(deadline=None)
@given(TIMES, TIMES)
def test_good_and_bad_mirror_each_other(good, bad):
    there = judge(Measure("cpu_s", good, bad), FLOORS).change
    back = judge(Measure("cpu_s", bad, good), FLOORS).change
    assert (there is Direction.GREW) == (back is Direction.SHRANK)


@settings(deadline=None)
@given(TIMES, TIMES)
def test_spread_equals_the_textbooks(good, bad):
    if len(good) + len(bad) > 2:
        squares = sum(len(side) * np.var(side) for side in (good, bad))
        expected = np.sqrt(squares / (len(good) + len(bad) - 2))
        assert pooled_spread(Measure("cpu_s", good, bad)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("noise", [0.02, 0.10, 0.20])
def test_the_same_behaviour_seldom_passes(runs, noise):
    # GIVEN 2,000 comparisons of runs that behave the same, with noise of 2 to 20%
    random = np.random.default_rng(1)
    times = np.exp(random.normal(0, noise, (2000, 2, runs)))
    # THEN at most one of a hundred is called slower, give or take what 2,000 comparisons can tell
    alarms = sum(judge(Measure("cpu_s", tuple(g), tuple(b)), FLOORS).change is Direction.GREW for g, b in times)
    assert alarms <= 2000 * 0.015


def test_single_runs_seldom_pass_on_a_shared_machine():
    random = np.random.default_rng(2)
    times = np.exp(random.normal(0, 0.10, (4000, 2)))
    alarms = sum(judge(Measure("cpu_s", (g,), (b,)), FLOORS).change is Direction.GREW for g, b in times)
    assert alarms <= 4000 * 0.03


def test_a_real_difference_passes():
    assert judge(Measure("cpu_s", (1.0, 1.02, 0.99), (1.2, 1.22, 1.19)), FLOORS).change is Direction.GREW


@pytest.mark.parametrize(
    ("good", "bad", "change"),
    [
        ((1.0, 1.1), (6.0, 13.0), Direction.GREW),  # their own spread does not hide nine times the time
        ((6.0, 13.0), (1.0, 1.1), Direction.SHRANK),
        ((1.0, 1.1), (1.6, 3.0), Direction.UNCLEAR),
        ((1.0, 1.1, 1.05), (1.6, 3.0, 1.55), Direction.GREW),  # a busy machine made one of them slower yet
        ((1.0, 1.1, 1.05), (1.4, 3.0, 1.55), Direction.UNCLEAR),
    ],
)
def test_their_own_spread_does_not_hide_what_any_of_the_runs_shows(good, bad, change):
    assert judge(Measure("cpu_s", good, bad), FLOORS).change is change


def test_the_number_of_runs_asked_for_would_do():
    # GIVEN a difference of 15% that a spread of 8% hides
    measure = Measure("cpu_s", (0.92, 1.0, 1.08), (1.07, 1.15, 1.23))
    assert judge(measure, FLOORS).change is Direction.UNCLEAR
    runs = runs_needed(measure, FLOORS, usual=3, most=30)
    # THEN with that many runs of the same spread the test passes, and with one fewer it would not
    assert runs is not None and runs > 3

    def passes(count):
        return student_99(2 * count - 2) * 0.08 * np.sqrt(2 / count) < 0.15

    assert passes(runs) and not passes(runs - 1)


def test_hopeless_noise_asks_for_no_number_of_runs():
    assert runs_needed(Measure("cpu_s", (0.5, 1.5), (0.6, 1.7)), FLOORS, usual=3, most=30) is None


def test_floors_are_ordered():
    floors = DiagnoseSettings()
    assert floors.cpu.relative < floors.wall.relative
    assert floors.cpu.relative < floors.cpu.single_relative < floors.wall.single_relative
