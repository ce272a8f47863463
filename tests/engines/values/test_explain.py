"""Why a variable does not count, in words that are true."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.values.made import Read, one_function
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.counters import CounterGrowth, Tracking
from whyperf.engines.values.explain import explain
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.variable_comparison import VariableOutcome
from whyperf.engines.values.variable_test import Tested as Judged
from whyperf.engines.values.variable_test import VariableStatus
from whyperf.recording.names.identity import FunctionKey

WORK = FunctionKey("tool", "work", "")
VALUE, DELTA, DURATION = Dimension.VALUE, Dimension.DELTA, Dimension.DURATION
NO_COUNTER = CounterGrowth(Tracking.NO)


def runs(values, first=0, **more):
    """Three runs in which work's variable x holds what a function of a random generator makes."""
    read = [values(np.random.default_rng(first + seed)) for seed in range(3)]
    return [
        Run(one_function(Read("work", "x", one, **{"roles": "condition", **more}), samples=len(one))) for one in read
    ]


UNCHANGED = compare(runs(lambda rng: rng.integers(0, 9, 100)), runs(lambda rng: rng.integers(0, 9, 100), first=9))


def said_of(*tests, growth=NO_COUNTER, limit=-1.0, unit="run"):
    """What is said of a variable with these tests."""
    outcome = VariableOutcome(UNCHANGED.outcomes[0].variable, tests, growth)
    return " ".join(explain(replace(UNCHANGED, outcomes=(outcome,), limit=limit, unit=unit), WORK)[1:])


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ([Judged(VALUE, VariableStatus.SAME, 1.0)], "x differs no more than by chance."),
        ([Judged(VALUE, VariableStatus.SAME, 0.05)], "x is 0.05 away from the good runs; more than 0.10 would count."),
        (
            [Judged(VALUE, VariableStatus.SAME, 0.22, 0.2)],
            "x is 0.22 away from the good runs; more than 0.25 would count: runs of one kind are 0.20 apart.",
        ),
        (
            [Judged(VALUE, VariableStatus.SAME), Judged(DELTA, VariableStatus.SAME, 0.4)],
            "How fast x changes differs no more than by",
        ),
        (
            [Judged(VALUE, VariableStatus.SAME, 0.9), Judged(DURATION, VariableStatus.INSUFFICIENT, 0.3)],
            "How long x stays the same",
        ),
        (
            [Judged(VALUE, VariableStatus.FEW), Judged(DELTA, VariableStatus.FEW)],
            "x was read too seldom at the same places: 8 read",
        ),
        (
            [Judged(VALUE, VariableStatus.TESTED, 0.5, 0.1, 0.004)],
            "differs (p = 0.004), but among 1 variables that may be",
        ),
    ],
)
def test_each_reason_has_its_words(tests, expected):
    assert expected in said_of(*tests)


STATUS = st.sampled_from(
    [
        VariableStatus.SAME,
        VariableStatus.FEW,
        VariableStatus.INSUFFICIENT,
        VariableStatus.TESTED,
        VariableStatus.RUN_CONSTANT,
    ]
)
TESTS = st.builds(Judged, st.sampled_from(Dimension), STATUS, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))


@settings(deadline=None)
@given(st.lists(TESTS, min_size=1, max_size=3), st.sampled_from([-1.0, 1e-4, 0.02]))
def test_nothing_that_would_count_is_said_not_to(tests, limit):
    said = said_of(*tests, limit=limit)
    for distance, need in re.findall(r"is (\S+) away from the good runs; more than (\d\.\d\d) would count", said):
        assert float(distance) <= float(need)
    for p in re.findall(r"p = (\S+)\)", said):
        assert float(p) > limit * 0.99


def test_a_stay_that_the_functions_slowness_explains_is_not_said_to_be_chance():
    # GIVEN as many changes in four times the samples: everything in the function takes four times as long
    def slow(samples):
        return lambda rng: np.cumsum(rng.random(samples) < 400 / 3 / samples) % 7

    found = compare(runs(slow(400)), runs(slow(1600), first=9))
    assert not [one for one in found.abnormal if one.dimension is DURATION]
    # THEN that is the reason
    said = " ".join(explain(replace(found, abnormal=()), WORK))
    assert "How long x stays the same differs, but no more than the whole function takes longer." in said


def test_what_callees_do_with_abnormal_data_is_not_denied():
    # GIVEN data that no condition of the function itself looks at
    good, bad = (runs(lambda rng, value=value: np.full(100, value), roles="argument") for value in (9, 5_000))
    said = " ".join(explain(compare(good, bad), WORK))
    assert "No condition or loop of its own looks at them" in said and "What it calls may do so." in said


def test_counters_are_told_in_the_unit_of_the_report():
    same = CounterGrowth(Tracking.SAME)
    assert "as much per request" in said_of(Judged(VALUE, VariableStatus.SAME), growth=same, unit="request")
    counting = [
        runs(lambda rng, step=step: np.cumsum(rng.integers(step, 2 * step, 400)), at) for at, step in enumerate((5, 50))
    ]
    (one,) = compare(*counting).abnormal
    assert one.growth is not None
    assert "times as much per run." in " ".join(explain(compare(*counting), WORK))
