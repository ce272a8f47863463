from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyperf.engines.relations.changed_relations.changed import Counts, distance, has_changed, share_changed
from whyperf.engines.relations.settings import RelationsSettings

SETTINGS = RelationsSettings()
samples = st.lists(st.integers(0, 6), min_size=1, max_size=60).map(lambda values: np.array(values, np.int64))


def counts_of(values) -> Counts:
    value, times = np.unique(values, return_counts=True)
    return Counts(value.astype(np.int64), times.astype(np.int64))


@given(samples, samples)
def test_distance_is_that_of_kolmogorov_and_smirnov(good: np.ndarray, bad: np.ndarray) -> None:
    assert np.isclose(distance(counts_of(good), counts_of(bad)), stats.ks_2samp(good, bad).statistic)


@given(samples, samples)
def test_changed_means_significant_and_material(good: np.ndarray, bad: np.ndarray) -> None:
    means = good.mean(), bad.mean()
    material = max(means) > 0 and abs(means[0] - means[1]) >= 0.1 * max(means)
    if min(len(good), len(bad)) < 8:
        expected = bool(good.max() < bad.min() or bad.max() < good.min())
    else:
        # 1.358 is where the asymptotic p-value is 5%.
        size = len(good) * len(bad) / (len(good) + len(bad))
        statistic = stats.ks_2samp(good, bad).statistic
        expected = bool(stats.kstwobign.sf(np.sqrt(size) * statistic) < stats.kstwobign.sf(1.358))
    assert has_changed(counts_of(good), counts_of(bad), SETTINGS) == (expected and material)


@given(samples)
def test_a_distribution_has_not_changed_against_itself(values: np.ndarray) -> None:
    assert not has_changed(counts_of(values), counts_of(values), SETTINGS)


@given(samples)
def test_quantiles_are_those_of_the_sorted_values(values: np.ndarray) -> None:
    expected = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf")
    assert counts_of(values).quantiles((0, 0.25, 0.5, 0.75, 1)) == expected.tolist()


def test_shares_of_few_tests_must_be_all_or_nothing() -> None:
    assert share_changed(0.0, 1.0, 2, 3, SETTINGS)
    assert not share_changed(0.1, 1.0, 2, 3, SETTINGS)
    assert share_changed(0.1, 0.9, 100, 100, SETTINGS)
    assert not share_changed(0.1, 0.25, 10, 10, SETTINGS)  # not significant
    assert not share_changed(0.1, 0.15, 10_000, 10_000, SETTINGS)  # not material
