"""Growth of memory beside what sampling adds by chance."""

from __future__ import annotations

import numpy as np
import pytest

from whyperf.diagnose.memory import peak_grew
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.holdings import Holdings

INTERVAL = 512 * 1024
COMPARISONS = 400


def held(samples: int) -> Holdings:
    """Of a run that allocates small objects and keeps them to its end."""
    rows = np.arange(samples, dtype=np.int64)
    return Holdings(
        stack=np.zeros(samples, np.int64),
        begin=rows,
        end=np.full(samples, 10_000, np.int64),
        freed=np.ones(samples, bool),
        freed_stack=np.zeros(samples, np.int64),
        size=np.full(samples, 1000.0),
        weight=np.full(samples, float(INTERVAL)),
        touched=np.ones(samples),
        sample=rows,
        window=(0, 10_000),
        interval=INTERVAL,
    )


def called_growth(good: float, bad: float, runs: int) -> float:
    """The part of comparisons that see one, where runs have so many samples on average."""
    chance = np.random.default_rng(runs)
    return (
        sum(
            peak_grew(
                [held(samples) for samples in chance.poisson(good, runs)],
                [held(samples) for samples in chance.poisson(bad, runs)],
                DiagnoseSettings(),
            )
            for _ in range(COMPARISONS)
        )
        / COMPARISONS
    )


@pytest.mark.parametrize("runs", [1, 2, 3])
@pytest.mark.parametrize("samples", [30, 115, 500])
def test_other_samples_of_the_same_memory_are_no_growth(samples: int, runs: int) -> None:
    # Single runs with 30 samples: 20% before their error was asked for; three runs: 1%.
    assert called_growth(samples, samples, runs) <= 0.005


@pytest.mark.parametrize("runs", [1, 3])
def test_twice_as_much_is_seen(runs: int) -> None:
    assert called_growth(115, 230, runs) >= 0.99
