"""What is said of a function that allocates more, or no longer calls who frees."""

from __future__ import annotations

import numpy as np
import pytest

from whyperf.engines.memory.changes import Amounts, GrowthReason, MemoryChange
from whyperf.engines.memory.compare import MemoryAccount
from whyperf.engines.memory.frees import FewerCalls, NotFreeing
from whyperf.engines.memory.sentences import calls_less, churns, no_longer_frees, touches, why
from whyperf.engines.sampled_bytes import SampledBytes

SAMPLE = 512 * 1024
RUNS = 3


def amounts(live: int, allocated: int, kept: int = 0) -> Amounts:
    """Of so many samples in each run, of objects of 1 kB."""

    def sampled(samples: int, replaced: float = 1.0) -> SampledBytes:
        return SampledBytes(samples * SAMPLE, samples * SAMPLE**2, SAMPLE, RUNS, replaced)

    every = allocated * SAMPLE
    at_peak = sampled(live, allocated / max(live, 1))
    return Amounts(every / 1024, every, live * SAMPLE, kept * SAMPLE, live * SAMPLE, at_peak, sampled(allocated))


def account(reason: GrowthReason, good: Amounts, bad: Amounts, stopped: NotFreeing | None = None) -> MemoryAccount:
    change = MemoryChange(good, bad, (good.live,) * RUNS, (bad.live,) * RUNS, SAMPLE, {reason: 1.0})
    return MemoryAccount(0, 0, np.zeros(0, np.int64), 1.0, change, stopped)


def test_what_few_samples_held_in_good_runs_is_a_bound() -> None:
    # GIVEN good runs that free all but two samples of what they allocate
    freed = account(GrowthReason.NOT_FREED, amounts(2, 200), amounts(200, 200, 200))
    # THEN nothing of that is said as if it were measured
    assert why(freed).sentence == (
        "It allocates memory that is no longer freed: over 98% was free at the peak, now 0%; 105 MB of it are in use "
        "at the peak, was less than 2.5 MB."
    )
    stopped = NotFreeing(0, 0, 0.99, 0.0, resizes=False, calls=None)
    freed = account(GrowthReason.NOT_FREED, amounts(2, 200), amounts(200, 200, 200), stopped)
    assert no_longer_frees(freed, "insert", "evict").sentence.endswith(
        "105 MB are in use at the peak, was less than 2.5 MB."
    )


def test_few_allocations_of_good_runs_are_a_bound() -> None:
    more = account(GrowthReason.MORE_OBJECTS, amounts(1, 1), amounts(200, 200))
    assert why(more).sentence == (
        "It allocates more often: about 100,000 times, was less than 1,700; 105 MB of it are in use at the peak, was "
        "less than 1.7 MB."
    )
    assert churns(more).sentence == (
        "It allocates and frees more for the same memory in use: about 100,000 times 1.0 kB, was less than 1.7 MB in "
        "all."
    )
    assert touches(more).sentence.startswith("It touches 105 MB of memory for the first time, was less than 1.7 MB; ")


def test_enough_samples_of_good_runs_are_a_figure() -> None:
    more = account(GrowthReason.MORE_OBJECTS, amounts(50, 50), amounts(200, 200))
    assert why(more).sentence == (
        "It allocates more often: about 100,000 times, was 26,000; 105 MB of it are in use at the peak, was 26 MB."
    )


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (
            FewerCalls("drop", 60000.0, 0.0, "run"),
            "no longer calls drop, which frees it: 60,000 times in good runs, never now",
        ),
        (
            FewerCalls("drop", 2.0, 0.25, "request"),
            "calls drop, which frees it, less often: 0.25 times per request, was 2",
        ),
        (
            FewerCalls("shrink", 1.0, 0.0, "request"),
            "no longer calls shrink, which frees it: once per request in good runs, never now",
        ),
    ],
)
def test_calls_are_said_per_unit_of_work(calls: FewerCalls, said: str) -> None:
    assert calls_less(calls, resizes=False, allocates="it") == said
