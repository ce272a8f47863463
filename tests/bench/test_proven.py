"""`bench.proven` counts each run of a verdict's trials once."""

from __future__ import annotations

from bench.proven import trial_runs


def test_good_and_bad_runs_that_trials_share_are_counted_once() -> None:
    values = [{"means": "value", "runs": 5}, {"means": "value", "runs": 3}]
    functions = [{"means": "function", "runs": 3}, {"means": "variable", "runs": 3}]
    assert trial_runs(values[:1]) == 25
    assert trial_runs(values) == 10 + 15 + 9
    assert trial_runs(functions) == 6 + 9 + 9
    assert trial_runs([*values, {"means": "spread", "runs": 2}]) == trial_runs(values) + 6
    assert trial_runs(values + functions) == trial_runs(values) + trial_runs(functions)


def test_no_trial_is_no_run() -> None:
    assert trial_runs([]) == 0
