"""The figures that benchmarks print, against textbook values and brute force."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from bench.false_alarms import deal
from bench.intervals import paired_ratio, rate_upper_bound
from bench.speed.memory import own_resident
from hypothesis import given
from hypothesis import strategies as st


def test_no_event_in_sixty_trials_bounds_the_rate_at_five_percent() -> None:
    # The rule of three, exactly: 1 - 0.05 ** (1 / 60).
    assert rate_upper_bound(0, 60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert rate_upper_bound(3, 3) == 1.0


@given(st.integers(0, 30), st.integers(1, 30))
def test_bound_is_above_the_rate_and_grows_with_events(events: int, more: int) -> None:
    trials = events + more
    assert events / trials < rate_upper_bound(events, trials) <= rate_upper_bound(events + 1, trials)


def test_ratio_of_paired_runs_ignores_drift_common_to_both() -> None:
    # GIVEN a machine that slows down by half while measuring, and a tool that costs 2%
    chance = np.random.default_rng(3)
    plain = np.linspace(1.0, 1.5, 40)
    watched = plain * 1.02 * (1 + chance.normal(0, 0.001, 40))
    # THEN the drift does not show
    ratio = paired_ratio(plain.tolist(), watched.tolist())
    assert ratio.low <= 1.02 <= ratio.high
    assert ratio.resolved


def test_wide_interval_is_called_unresolved() -> None:
    chance = np.random.default_rng(4)
    ratio = paired_ratio([1.0] * 10, (1 + chance.normal(0, 0.2, 10)).tolist())
    assert not ratio.resolved
    assert str(ratio).endswith("unresolved")


@given(st.integers(0, 40), st.integers(1, 4), st.integers(1, 3))
def test_dealt_pairs_alternate_and_share_nothing_within_a_dealing(size: int, runs: int, dealings: int) -> None:
    pool = [Path(f"{number:03}") for number in range(size)]
    for dealing in range(dealings):
        pairs = list(deal(pool, runs, dealing + 1))[len(list(deal(pool, runs, dealing))) :]
        used = [path for pair in pairs for path in (*pair.good, *pair.bad)]
        assert len(used) == len(set(used))
        for pair in pairs:
            numbers = sorted((int(str(path)), path in pair.good) for path in (*pair.good, *pair.bad))
            assert len(pair.good) == len(pair.bad) == runs
            assert all(one[1] != other[1] for one, other in itertools.pairwise(numbers))


def test_only_our_mappings_count_as_sampler_memory() -> None:
    smaps = """\
55d0-55d1 r-xp 00000000 fe:00 1    /usr/bin/redis-server
Rss:                 900 kB
7f00-7f01 r-xp 00000000 fe:00 2    /usr/lib/whyperf/collect/libwhyperf_sampler.so
Size:                500 kB
Rss:                  40 kB
7f02-7f03 rw-s 00000000 fe:00 3    /tmp/x/raw/rings
Rss:                  16 kB
7f04-7f05 rw-p 00000000 00:00 0
Rss:                 700 kB
"""
    assert own_resident(smaps) == 56 * 1024
