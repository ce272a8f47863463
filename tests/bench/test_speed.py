"""The speed book's own arithmetic: growth, ratios, rounds, tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.intervals import Ratio, paired_ratio
from bench.speed.book import with_section
from bench.speed.fit import fit_growth
from bench.speed.meter import Cost
from bench.speed.rounds import Rounds, drawn
from bench.speed.table import change, markdown, size_of
from bench.speed.tools import NONE, TOOLS, tools_named
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

_SIZES = np.array([1.0, 3.0, 10.0, 30.0, 100.0]) * 200_000


@given(st.floats(0.5, 2.0), st.floats(0.0, 5.0), st.floats(0.5, 50.0))
@settings(max_examples=30, deadline=None)
def test_exponent_of_a_true_curve_is_found(exponent: float, start: float, at_the_end: float) -> None:
    # GIVEN costs that are a start and a power of the size, the power mattering at the largest size at least
    costs = start + at_the_end * (_SIZES / _SIZES[-1]) ** exponent
    # WHEN the curve is fitted
    growth = fit_growth(_SIZES.tolist(), costs.tolist())
    # THEN it goes through the points, with that exponent
    assert growth.exponent == pytest.approx(exponent, abs=0.02)
    assert growth.least - 0.02 <= exponent <= growth.most + 0.02
    fitted = growth.start + growth.each * _SIZES**growth.exponent
    np.testing.assert_allclose(fitted, costs, rtol=1e-3)


@given(st.integers(0, 2**32 - 1), st.floats(0.6, 1.6))
@settings(max_examples=20, deadline=None)
def test_no_curve_of_the_kind_is_nearer_than_the_fitted_one(seed: int, exponent: float) -> None:
    # GIVEN disturbed costs, and scipy's search from the true curve as the oracle
    chance = np.random.default_rng(seed)
    costs = (1.0 + 9.0 * (_SIZES / _SIZES[-1]) ** exponent) * chance.uniform(0.9, 1.1, len(_SIZES))
    growth = fit_growth(_SIZES.tolist(), costs.tolist())

    def distance(numbers: np.ndarray) -> float:
        start, last, power = numbers
        return float(np.sum(((start + last * (_SIZES / _SIZES[-1]) ** power) / costs - 1) ** 2))

    bounds = [(0, None), (0, None), (0.01, 3.0)]
    oracle = optimize.minimize(distance, (1.0, 9.0, exponent), bounds=bounds)
    ours = distance(np.array([growth.start, growth.each * _SIZES[-1] ** growth.exponent, growth.exponent]))
    assert ours <= oracle.fun + 1e-6


def test_a_start_that_hides_the_growth_leaves_the_exponent_open() -> None:
    # GIVEN costs that are nearly all start, disturbed by what else happens on the machine
    growth = fit_growth([1, 3, 10], [2.25, 2.32, 2.41])
    # THEN nothing is claimed of the exponent
    assert growth.least < 0.1
    assert growth.most > 2
    assert growth.is_linear


def test_growth_is_linear_only_up_to_the_limit() -> None:
    assert fit_growth(_SIZES.tolist(), (2 + _SIZES / 1e6).tolist()).is_linear
    assert not fit_growth(_SIZES.tolist(), (2 + (_SIZES / 1e5) ** 1.5).tolist()).is_linear
    assert fit_growth(_SIZES.tolist(), [3.0] * len(_SIZES)).is_linear
    with pytest.raises(ValueError, match="three sizes"):
        fit_growth([1, 1, 2], [1, 1, 2])


def test_interval_of_a_ratio_is_scipys_bootstrap_interval() -> None:
    chance = np.random.default_rng(5)
    plain = chance.uniform(1, 2, 25)
    watched = plain * chance.lognormal(0.05, 0.1, 25)
    ours = paired_ratio(plain.tolist(), watched.tolist())
    theirs = stats.bootstrap(
        (watched / plain,), np.median, method="percentile", n_resamples=4000, rng=np.random.default_rng(6)
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


@given(st.integers(0, 40))
def test_every_tool_has_its_turn_once_a_round_and_costly_ones_only_at_first(number: int) -> None:
    names = [tool.name for tool in drawn(TOOLS, number)]
    assert sorted(names) == sorted(tool.name for tool in TOOLS if not tool.costly or number < 3)


def test_orders_differ_from_round_to_round_but_not_from_run_to_run() -> None:
    orders = [[tool.name for tool in drawn(TOOLS, number)] for number in range(3, 9)]
    assert len({tuple(order) for order in orders}) > 1
    assert orders == [[tool.name for tool in drawn(TOOLS, number)] for number in range(3, 9)]


def test_plain_run_is_always_among_the_tools() -> None:
    assert [tool.name for tool in tools_named(["gprof"])] == ["none", "gprof"]


def test_only_rounds_with_both_runs_are_paired() -> None:
    def cost(seconds: float) -> Cost:
        return Cost(seconds, seconds, seconds, 0, 0)

    rounds = Rounds([{NONE.name: cost(1), "a": cost(2)}, {NONE.name: cost(3)}, {"a": cost(4)}])
    assert rounds.pairs("a", lambda one: one.cpu_s) == ([1], [2])


@given(st.floats(1, 1e13))
def test_sizes_are_told_within_half_a_digit(count: float) -> None:
    number, unit = size_of(count).split()
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    assert float(number) * scale == pytest.approx(count, rel=0.006)
    assert "e" not in number or unit == "GB"


def test_costs_are_told_in_per_cent_and_from_twice_on_in_times() -> None:
    assert change(Ratio(1.021, 0.995, 1.043, 10)) == "+2.1% [-0.5, +4.3]"
    assert change(Ratio(4.21, 4.0, 4.5, 10)) == "4.2 times [4.0, 4.5]"
    assert change(Ratio(1.5, 1.5, 1.5, 1)) == "+50.0%"  # one pair has no interval


@given(st.integers(1, 6), st.integers(0, 6))
def test_rows_of_a_table_have_as_many_cells_as_its_head(columns: int, rows: int) -> None:
    lines = markdown(["h"] * columns, [["c"] * columns] * rows).splitlines()
    assert len(lines) == rows + 2
    assert {line.count("|") for line in lines} == {columns + 1}


@given(st.lists(st.sampled_from(["## A\n\ntext\n", "## B\n\n| a |\n|---|\n", "### C\n"])), st.booleans())
def test_section_takes_its_own_place_and_leaves_the_rest(others: list[str], before: bool) -> None:
    # GIVEN results with and without an older book among other sections
    rest = "# Results\n\n" + "\n".join(others)
    old = f"# Results\n\n## Speed book\n\nold figures\n\n### Part\n\n{''.join(others[:1])}" if before else rest
    text = "## Speed book\n\nnew figures\n"
    # WHEN the book is put in, THEN it is there once, and a second time changes nothing
    once = with_section(old, text)
    assert once.count("## Speed book\n") == 1
    assert "old figures" not in once
    assert with_section(once, text) == once
    assert all(line in once for line in old.splitlines() if line.startswith("## "))


def test_times_of_a_size_are_the_sizes_ratio() -> None:
    growth = fit_growth([1, 10, 100], [1, 10, 100])
    assert growth.at_the_end == pytest.approx(1.0)
    assert math.isclose(growth.exponent, 1.0, abs_tol=1e-3)
