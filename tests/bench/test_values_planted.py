"""What the values benchmark takes for the truth is true."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from bench.values_planted import CHANGES, plant, resampled

from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare

N = 300


def made(seed):
    rng = np.random.default_rng(seed)
    reads = [Read("work", f"v{at}", rng.integers(0, 50, N)) for at in range(20)]
    return one_function(*reads, Read("main", "n", np.cumsum(rng.integers(0, 3, N))), samples=N)


def rows_by_sample(recording):
    found = {}
    for row in recording.table("values").to_pylist():
        found.setdefault(row.pop("sample"), []).append(row)
    return found


def test_a_resampled_run_is_made_of_samples_with_all_that_was_read_in_them():
    # GIVEN a run in which every sample can be told from every other
    recording = made(1)
    new = resampled(np.random.default_rng(2), recording)
    before, after = rows_by_sample(recording), rows_by_sample(new)
    source = [next(old for old in before if before[old] == after[sample]) for sample in range(N)]
    # THEN it has as many samples, mostly in the order in which they were, though not all of them
    assert len(source) == N
    assert np.mean([second == (first + 1) % N for first, second in pairwise(source)]) > 0.9
    assert len(set(source)) < N
    # THEN its values are sorted as a sealed recording's are
    values = new.table("values").to_pylist()
    assert values == sorted(values, key=lambda row: (row["variable"], row["sample"]))


def test_only_planted_variables_differ():
    good, bad = [Run(made(seed)) for seed in (1, 2, 3)], [Run(made(seed)) for seed in (4, 5, 6)]
    values = compare(good, bad)
    changed, planted = plant(np.random.default_rng(3), values, good, bad, 0.3)
    assert 1 <= len(planted) <= 7
    assert all(what.readings == N and what.change in CHANGES for what in planted.values())
    names = {variable.name for variable in planted}
    for before, after in zip(bad, changed, strict=True):
        table = before.recording.table("variables").to_pylist()
        old, new = (run.recording.table("values").to_pylist() for run in (before, after))
        differ = {table[one["variable"]]["name"] for one, other in zip(old, new, strict=True) if one != other}
        assert differ == names
