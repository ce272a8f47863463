"""CPU time without samples: said beyond what chance and the edges of processes explain, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from whyperf.seal.unsampled import CpuTime, explained_s, unsampled_cpu_s, why_unsampled

ONE = CpuTime(user_s=1.0, system_s=0.0, sampled_s=1.0, rate_hz=200, threads=1, processes=1)
MAKE = replace(ONE, user_s=9.84, system_s=0.45, sampled_s=9.9, threads=41, processes=41, peak_bytes=61_000_000)
FORKS = replace(ONE, user_s=0.11, system_s=0.93, sampled_s=0.68, threads=41, processes=41, peak_bytes=431_000_000)
WAKES = replace(ONE, user_s=0.47, system_s=0.11, sampled_s=0.405, threads=48)
CALLS = replace(ONE, user_s=0.1, system_s=0.9, sampled_s=0.1, rate_hz=1000, user_only=True)
WORKERS = replace(ONE, user_s=0.83, system_s=0.05, sampled_s=0.8, threads=2, processes=2, started=13)
LATE = replace(ONE, sampled_s=0.94, whole=False)


@pytest.mark.parametrize(
    ("time", "missing"),
    [
        (ONE, 0.0),
        (replace(ONE, sampled_s=1.2), 0.0),  # more than was used, by chance
        (replace(ONE, sampled_s=0.96), 0.0),
        (replace(ONE, sampled_s=0.92), 0.08),  # 8% are beyond chance, and were once passed over
        (replace(ONE, sampled_s=0.5), 0.5),
        (replace(ONE, user_s=0.02, sampled_s=0.0), 0.0),  # four samples too few
        (replace(ONE, sampled_s=0.5, threads=10_000), 0.0),  # half a sample a thread
        (replace(ONE, sampled_s=0.5, threads=1, started=10_000), 0.5),  # 200 samples are to be expected, of whichever
        (replace(ONE, user_s=100.0, sampled_s=95.0), 5.0),
    ],
)
def test_only_what_chance_does_not_explain(time: CpuTime, missing: float) -> None:
    assert unsampled_cpu_s(time) == pytest.approx(missing)


@pytest.mark.parametrize(
    "time", [MAKE, FORKS, WAKES, CALLS, WORKERS, LATE], ids=["make", "forks", "wakes", "calls", "workers", "late"]
)
def test_programs_of_which_nothing_was_lost(time: CpuTime) -> None:
    """As `python -m bench.unsampled` measured them."""
    assert unsampled_cpu_s(time) == 0.0


def test_what_is_freed_takes_no_more_than_all_time_in_the_kernel() -> None:
    huge = replace(ONE, peak_bytes=1 << 40)
    assert explained_s(huge) == explained_s(ONE)
    assert explained_s(replace(huge, system_s=0.5)) > 0.5


def test_timers_come_no_oftener_than_the_kernels_ticks() -> None:
    """Without perf events, higher rates make samples heavier."""
    assert explained_s(replace(ONE, rate_hz=5000)) == explained_s(replace(ONE, rate_hz=250))
    assert explained_s(replace(ONE, rate_hz=100)) > explained_s(ONE)


def test_why() -> None:
    half = replace(ONE, sampled_s=0.5)
    assert why_unsampled(half, unfollowed=True) == (
        "0.50 s of 1.00 s CPU time have no samples: programs that were not followed."
    )
    assert "fork()" in why_unsampled(half, unfollowed=False)
    assert "Threads shorter" not in why_unsampled(half, unfollowed=False)
    assert "Threads shorter than 1/1000 s" in why_unsampled(
        replace(half, rate_hz=1000, user_only=True), unfollowed=False
    )
    # AND threads that the program kept from being sampled explain no more than they can have used
    assert why_unsampled(half, unfollowed=False, limited_s=0.6) == ""
    assert "fork()" in why_unsampled(half, unfollowed=False, limited_s=0.4)
