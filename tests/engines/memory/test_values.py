"""The rank sum test by which values at allocations are compared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyperf.engines.memory.values import _changed, _differs, _p, _Readings

readings = st.lists(st.integers(-5, 5), min_size=5, max_size=40)


@given(readings, readings)
def test_it_is_the_one_of_scipy(good: list[int], bad: list[int]) -> None:
    ours = _p(_Readings([np.array(good, float)], [np.array(bad, float)]))
    if len(set(good + bad)) == 1:
        assert ours == 1.0
        return
    theirs = stats.mannwhitneyu(bad, good, method="asymptotic", use_continuity=False).pvalue
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_only_what_grows_in_every_bad_run_is_a_counter() -> None:
    rising, level = np.arange(8.0), np.array([4.0, 3, 4, 5, 4, 3])
    grown = _changed("used", _Readings([level], [rising, rising * 3]))
    assert (grown.only_grows, grown.good, grown.bad) == (True, 3.0, 14.0)
    assert not _changed("used", _Readings([level], [rising, level + 9])).only_grows
    assert _differs(_Readings([level, level], [level + 9]))
    assert not _differs(_Readings([level, level + 9], [level + 9]))


def test_counters_of_the_same_loop_do_not_differ() -> None:
    # GIVEN a loop of 15,000 rounds that was looked at every 500 or so
    good, bad = ([np.arange(start, 15_000.0, 500) for start in starts] for starts in ((3, 70, 100), (310, 400, 499)))
    assert not _differs(_Readings(good, bad))
    # THEN one that goes on for longer does
    assert _differs(_Readings(good, [np.append(run, run + 15_000) for run in bad]))
