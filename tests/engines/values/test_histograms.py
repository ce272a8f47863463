"""Histograms of runs and blocks, and the distances between them, against twins that do it reading by reading."""

from __future__ import annotations

from collections import Counter
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.engines.values.bins import (
    bin_edges,
    block_histograms,
    distances,
    in_bins,
    largest_within,
    run_histograms,
)
from whyperf.engines.values.matched_lines import LineReadings
from whyperf.engines.values.statistics import hellinger, merge_sorted

unhurried = settings(deadline=None, max_examples=200)
numbers = st.lists(st.integers(-40, 40), min_size=1, max_size=80)
# Readings of one side: their line and bin, and how many of them belong to each run.
readings = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=60)
cuts = st.lists(st.floats(0, 1), max_size=3)


def side_of(read, cut_at):
    starts = sorted({0, len(read), *(int(one * len(read)) for one in cut_at)})
    line, bins = (np.array([one[at] for one in read], np.int64) for at in (0, 1))
    return LineReadings(bins, line, np.array(starts), np.array([0.5, 1.0, 2.0])), bins


def brute_distance(first, second):
    """From the definition, over two dictionaries of shares."""
    keys = {*first, *second}
    return sqrt(sum((sqrt(first.get(key, 0)) - sqrt(second.get(key, 0))) ** 2 for key in keys) / 2)


def shares(found):
    return {key: count / sum(found.values()) for key, count in found.items()}


@unhurried
@given(numbers, numbers, st.integers(2, 20))
def test_the_distance_over_bins_of_equal_share_is_that_of_its_twin(first, second, bins):
    # GIVEN values in order, where a bin is closed as soon as its share of all readings is full
    bin_of, full, current = {}, 0, 0
    pooled = Counter(first) + Counter(second)
    seen = 0
    for value in sorted(pooled):
        bin_of[value] = current
        seen += pooled[value]
        if seen * bins // sum(pooled.values()) > full:
            full, current = seen * bins // sum(pooled.values()), current + 1
    expected = brute_distance(*(shares(Counter(bin_of[one] for one in side)) for side in (first, second)))
    good, bad = (np.sort(np.array(side, np.int64)) for side in (first, second))
    assert merge_sorted(good, bad, 0, bins)[1] == pytest.approx(expected, abs=1e-7)


@unhurried
@given(numbers, numbers, st.integers(2, 20))
def test_every_value_falls_into_the_bin_that_ends_with_it_or_above(first, second, bins):
    good, bad = np.array(first, np.int64), np.array(second, np.int64)
    edges = bin_edges(good, bad, bins)
    assert 1 <= len(edges) <= bins
    assert edges[-1] == max(*first, *second)
    for value, at in zip(first, in_bins(good, edges).tolist(), strict=True):
        assert value <= edges[at]
        assert at == 0 or value > edges[at - 1]


@unhurried
@given(readings, cuts, st.integers(1, 6))
def test_histograms_of_runs_mix_lines_as_told(read, cut_at, fewest):
    side, bins = side_of(read, cut_at)
    mix = np.array([0.2, 0.3, 0.5])
    runs = [(start, stop) for start, stop in side.runs if stop - start >= fewest] or [(0, len(read))]
    found = run_histograms(side, bins, 4, mix, fewest)
    assert len(found) == len(runs)
    for row, (start, stop) in zip(found, runs, strict=True):
        # THEN each line has its share of the mix, among the lines that the run read at all
        expected = np.zeros(4)
        for line in range(3):
            here = [bin_ for at, bin_ in read[start:stop] if at == line]
            for bin_ in here:
                expected[bin_] += mix[line] / len(here)
        assert row == pytest.approx(expected / expected.sum())


@unhurried
@given(readings, cuts, st.integers(1, 20))
def test_blocks_hold_every_reading_once_and_none_spans_two_runs(read, cut_at, length):
    side, bins = side_of(read, cut_at)
    found = block_histograms(side, bins, 4, length)
    expected = []
    for start, stop in side.runs:
        blocks = max(1, (stop - start) // length)
        for block in range(blocks):
            row = np.zeros(4)
            for at in range(start, stop):
                if (at - start) * blocks // (stop - start) == block:
                    row[bins[at]] += side.weight[side.line[at]]
            expected.append(row)
    assert found == pytest.approx(np.array(expected))


@unhurried
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=2, max_size=5))
def test_distances_between_runs_are_hellingers(rows):
    histograms = np.array([np.array(row) / sum(row) for row in rows])
    found = distances(histograms, histograms)
    for one, first in enumerate(rows):
        for other, second in enumerate(rows):
            assert found[one, other] == pytest.approx(hellinger(first, second), abs=1e-7)
    pairs = [hellinger(first, second) for at, first in enumerate(rows) for second in rows[at + 1 :]]
    assert largest_within(histograms) == pytest.approx(max(pairs), abs=1e-7)
