"""The statistics against scipy and against twins that do it the long way."""

from __future__ import annotations

import warnings
from itertools import combinations, groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import anderson_ksamp, false_discovery_control, genpareto

from whyperf.engines.values.compiled_statistics import merge_sorted as compiled
from whyperf.engines.values.permutation import fit_pareto, permutation_p, shuffled, survival, tail_probability
from whyperf.engines.values.readings import run_lengths
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.statistics import (
    anderson_darling,
    compare_sorted,
    critical,
    discoveries,
    hellinger,
    merge_sorted,
)
from whyperf.engines.values.variable_test import autocorrelation_time

one_or_more = st.lists(st.integers(-5, 5), min_size=1, max_size=12)
few = st.lists(st.integers(-5, 5), min_size=4, max_size=60)
any_integers = st.lists(st.integers(-(2**60), 2**60), min_size=4, max_size=60)
unhurried = settings(deadline=None, max_examples=300)


def sorted_pair(first, second):
    return np.sort(np.array(first, np.int64)), np.sort(np.array(second, np.int64))


def scipy_statistic(first, second) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(anderson_ksamp([first, second], variant="midrank").statistic)


@pytest.mark.thorough
@unhurried
@given(st.one_of(few, any_integers), st.one_of(few, any_integers))
def test_anderson_darling_is_scipys(first, second):
    good, bad = sorted_pair(first, second)
    found = compare_sorted(good, bad, distinct=64, bins=64)
    if len(set(first) | set(second)) == 1:
        assert found is None  # scipy raises
    else:
        assert found.statistic == pytest.approx(scipy_statistic(good, bad), rel=1e-9, abs=1e-9)


@unhurried
@pytest.mark.thorough
@given(one_or_more, one_or_more)
def test_anderson_darling_is_scipys_on_tiny_samples(first, second):
    good, bad = sorted_pair(first, second)
    found = compare_sorted(good, bad, distinct=64, bins=64)
    if len(set(first) | set(second)) == 1:
        assert found is None
    elif len(first) + len(second) < 4:
        assert found.statistic == 0.0  # no variance is defined
    else:
        assert found.statistic == pytest.approx(scipy_statistic(good, bad), rel=1e-9, abs=1e-9)


def test_anderson_darling_is_scipys_on_large_samples():
    rng = np.random.default_rng(0)
    for distinct in (2, 30, 10**9):
        good, bad = sorted_pair(rng.integers(0, distinct, 4000), rng.integers(0, distinct, 2500))
        found = compare_sorted(good, bad, distinct=64, bins=64)
        assert found.statistic == pytest.approx(scipy_statistic(good, bad), rel=1e-9, abs=1e-9)


@unhurried
@pytest.mark.thorough
@given(st.one_of(few, any_integers), st.one_of(few, any_integers), st.integers(1, 64), st.integers(2, 64))
def test_compiled_and_plain_statistics_agree(first, second, distinct, bins):
    good, bad = sorted_pair(first, second)
    assert compiled(good, bad, distinct, bins) == pytest.approx(merge_sorted(good, bad, distinct, bins), abs=1e-7)


def test_the_critical_values_are_scipys():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = anderson_ksamp([[1, 2, 3, 4, 5], [2, 3, 4, 5, 6, 7]]).critical_values
    assert [critical(level) for level in (0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001)] == pytest.approx(table)


@unhurried
@pytest.mark.thorough
@given(few, few)
def test_hellinger_is_its_definition(first, second):
    values = sorted(set(first) | set(second))
    here, there = ([side.count(value) for value in values] for side in (first, second))
    squares = sum((np.sqrt(a / len(first)) - np.sqrt(b / len(second))) ** 2 for a, b in zip(here, there, strict=True))
    assert hellinger(here, there) == pytest.approx(np.sqrt(squares / 2), abs=1e-7)
    good, bad = sorted_pair(first, second)
    assert merge_sorted(good, bad, 64, 64)[1] == pytest.approx(np.sqrt(squares / 2), abs=1e-7)


@unhurried
@pytest.mark.thorough
@given(st.lists(st.integers(0, 2), min_size=1, max_size=80))
def test_run_lengths_are_those_of_groupby(values):
    array = np.array(values)
    assert run_lengths(array[1:] == array[:-1]).tolist() == [len(list(group)) for _, group in groupby(values)]


@pytest.mark.thorough
@unhurried
@given(st.integers(2, 5), st.integers(2, 5), st.integers(2, 6), st.integers(0, 10**6))
def test_permutation_p_is_exact_where_there_are_few_arrangements(good, bad, bins, seed):
    # GIVEN blocks of readings as histograms
    blocks = np.random.default_rng(seed).integers(0, 6, (good + bad, bins)).astype(float) + 0.01
    total = blocks.sum(axis=0)

    def statistic(chosen):
        return anderson_darling(blocks[list(chosen)].sum(axis=0, keepdims=True), total)[0]

    # WHEN every way to choose the good blocks is tried
    observed = statistic(range(good))
    arrangements = [statistic(chosen) for chosen in combinations(range(good + bad), good)]
    reached = sum(one >= observed * (1 - 1e-9) for one in arrangements)

    # THEN the test says the same
    assert permutation_p(blocks, good, ValuesSettings()) == pytest.approx(reached / len(arrangements))


@unhurried
@pytest.mark.thorough
@given(st.integers(2, 40), st.data())
def test_shuffles_choose_as_many_blocks_as_told(count, data):
    good = data.draw(st.integers(1, count - 1))
    labels = shuffled(count, good, 50, 1)
    assert labels.shape == (50, count)
    assert (labels.sum(axis=1) == good).all()


def test_shuffles_choose_every_block_as_often():
    labels = shuffled(30, 12, 4000, 5)
    assert labels.mean(axis=0) == pytest.approx(np.full(30, 0.4), abs=4 * np.sqrt(0.4 * 0.6 / 4000))
    assert len(np.unique(labels, axis=0)) > 3900


def test_random_permutations_agree_with_all_of_them():
    # GIVEN 7 + 7 blocks: 3,432 arrangements, more than are enumerated
    rng = np.random.default_rng(4)
    for shift in (0, 1, 2):
        blocks = rng.poisson(4, (14, 3)).astype(float)
        blocks[:7, 2] += shift
        total = blocks.sum(axis=0)
        sums = np.array([blocks[list(chosen)].sum(axis=0) for chosen in combinations(range(14), 7)])
        everything = anderson_darling(sums, total)
        observed = anderson_darling(blocks[:7].sum(axis=0, keepdims=True), total)[0]
        exact = float(np.mean(everything >= observed * (1 - 1e-9)))
        # THEN the sequential test with its tail fit is within sampling noise, or a factor where it is tiny
        found = permutation_p(blocks, 7, ValuesSettings())
        assert found == pytest.approx(exact, abs=4 * np.sqrt(exact / 200) + 0.003)


def test_the_tail_reaches_below_one_in_all_permutations():
    rng = np.random.default_rng(7)
    permuted = rng.exponential(1.0, 2000)
    for observed in (10.0, 15.0):
        found = tail_probability(permuted, observed, ValuesSettings())
        assert np.log(found) == pytest.approx(-observed, abs=4)
        assert found < 1 / 2000


def test_the_fit_finds_a_generalised_pareto():
    beyond = genpareto(0.3, scale=2.0).rvs(4000, random_state=1)
    shape, scale = fit_pareto(beyond)
    assert (shape, scale) == pytest.approx((0.3, 2.0), abs=0.15)
    assert survival(np.array([5.0]), 0.3, 2.0)[0] == pytest.approx(genpareto(0.3, scale=2.0).sf(5.0))


@unhurried
@pytest.mark.thorough
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from([0.05, 0.2]))
def test_discoveries_follow_benjamini_and_hochberg(p, rate):
    believed = discoveries(np.array(p), rate)
    ranked = sorted(p)
    largest = max((k for k in range(1, len(p) + 1) if ranked[k - 1] <= rate * k / len(p)), default=0)
    limit = ranked[largest - 1] if largest else -1.0
    assert believed.tolist() == [one <= limit for one in p]


@unhurried
@pytest.mark.thorough
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_discoveries_are_scipys(thousandths):
    p = np.array(thousandths) / 1000
    adjusted = false_discovery_control(p)
    clear = np.abs(adjusted - 0.1) > 1e-9  # of rounding
    assert (discoveries(p, 0.1) == (adjusted <= 0.1))[clear].all()


@pytest.mark.parametrize("stays", [0.0, 0.5, 0.9])
def test_the_autocorrelation_time_is_that_of_a_known_process(stays):
    rng = np.random.default_rng(3)
    values = np.empty(16000)
    latest = 0.0
    for at in range(len(values)):
        latest = stays * latest + rng.standard_normal()
        values[at] = latest
    assert autocorrelation_time(values) == pytest.approx((1 + stays) / (1 - stays), rel=0.25)


@unhurried
@pytest.mark.thorough
@given(st.lists(st.integers(-9, 9), min_size=4, max_size=50))
def test_the_autocorrelation_time_is_the_windowed_sum(values):
    series = np.array(values, float) - np.mean(values)
    if not series.any():
        return
    correlation = [(series[: len(series) - lag] * series[lag:]).sum() / (series**2).sum() for lag in range(len(series))]
    time = 2 * sum(correlation) - 1
    for window in range(len(series)):
        so_far = 2 * sum(correlation[: window + 1]) - 1
        if abs(window - 5 * so_far) < 1e-6:
            return  # rounding decides
        if window >= 5 * so_far:
            time = so_far
            break
    assert autocorrelation_time(np.array(values, float)) == pytest.approx(max(1.0, time), abs=1e-6)


def test_a_constant_has_no_autocorrelation():
    assert autocorrelation_time(np.ones(100)) == 1.0
