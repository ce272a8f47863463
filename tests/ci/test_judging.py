"""Slower, faster, no difference, not enough data: from verdicts as `diagnose` makes them, and back to front."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.ci.judging import judge_change
from whyperf.ci.policy import FailOn, exit_status
from whyperf.ci.state import BenchmarkState
from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import PEAK_BYTES, Symptom, Verdict, VerdictKind

FLOORS = DiagnoseSettings().cpu
KINDS = {
    Direction.GREW: VerdictKind.DIFFERENCE,
    Direction.SHRANK: VerdictKind.NONE,
    Direction.SAME: VerdictKind.NONE,
    Direction.UNCLEAR: VerdictKind.INSUFFICIENT,
}


def verdict(good: tuple[float, ...], bad: tuple[float, ...], kind: VerdictKind | None = None) -> Verdict:
    """As `diagnose` decides where only CPU time matters."""
    measure = Measure("cpu_s", good, bad)
    found = kind or KINDS[judge(measure, FLOORS).change]
    runs = (len(good), len(bad))
    symptom = Symptom("cpu", "run", measure.good_mean, measure.bad_mean, "cpu_s", runs, good, bad, "x")
    return Verdict(found, symptom, (), ())


def state(base: tuple[float, ...], head: tuple[float, ...], threshold: float = 0.05) -> BenchmarkState:
    return judge_change(verdict(base, head), lambda: verdict(head, base), threshold).state


STEADY = (1.0, 1.01, 0.99, 1.0, 1.005)


def times(factor: float) -> tuple[float, ...]:
    return tuple(factor * one for one in STEADY)


@pytest.mark.parametrize(
    ("factor", "threshold", "expected"),
    [
        (4.0, 0.05, BenchmarkState.SLOWER),
        (1.12, 0.05, BenchmarkState.SLOWER),
        (1.12, 0.20, BenchmarkState.SAME),
        (1.02, 0.0, BenchmarkState.SAME),  # below what is ever called a difference
        (1.0, 0.05, BenchmarkState.SAME),
        (0.8, 0.05, BenchmarkState.FASTER),
        (0.8, 0.50, BenchmarkState.SAME),
        (0.25, 0.05, BenchmarkState.FASTER),
    ],
)
def test_by_size_and_threshold(factor: float, threshold: float, expected: BenchmarkState) -> None:
    assert state(STEADY, times(factor), threshold) is expected


NOISY = (1.0, 1.6, 1.1, 2.0, 1.3)


def test_runs_that_overlap_are_not_judged() -> None:
    head = (1.2, 1.9, 1.4, 2.3, 1.7)
    judged = judge_change(verdict(NOISY, head), lambda: verdict(head, NOISY), 0.05)
    assert judged.state is BenchmarkState.INSUFFICIENT and "runs of one revision differ by" in judged.sentence
    assert state(NOISY, head, threshold=5.0) is BenchmarkState.SAME  # of nobody's concern, whatever the truth is


def test_too_few_samples_to_name_a_function_are_no_doubt_that_it_is_slower() -> None:
    forward = verdict(STEADY, times(3), VerdictKind.INSUFFICIENT)
    assert judge_change(forward, lambda: forward, 0.05).state is BenchmarkState.SLOWER


def test_more_work_is_no_slowness_and_memory_is_no_time() -> None:
    more = verdict(STEADY, times(1.01), VerdictKind.MORE_WORK)
    assert judge_change(more, lambda: more, 0.05).state is BenchmarkState.SAME
    peak = verdict(STEADY, STEADY, VerdictKind.DIFFERENCE)
    peak = replace(peak, symptom=replace(peak.symptom, measure=PEAK_BYTES, good=1e8, bad=9e8))
    judged = judge_change(peak, lambda: verdict(STEADY, STEADY), 0.05)
    assert judged.state is BenchmarkState.SAME and "Peak memory grew from 100 MB to 900 MB" in judged.sentence


_MIRROR = {BenchmarkState.SLOWER: BenchmarkState.FASTER, BenchmarkState.FASTER: BenchmarkState.SLOWER}
_runs = st.lists(st.floats(0.5, 4.0), min_size=3, max_size=6).map(tuple)


@given(_runs, _runs, st.sampled_from([0.0, 0.05, 0.2, 1.0]))
def test_faster_is_judged_as_slower_is(base: tuple[float, ...], head: tuple[float, ...], threshold: float) -> None:
    there, back = state(base, head, threshold), state(head, base, threshold)
    if there in _MIRROR:
        assert back is _MIRROR[there]
    else:
        assert back not in _MIRROR


@pytest.mark.parametrize(
    ("states", "fail_on", "status"),
    [
        ([BenchmarkState.SAME, BenchmarkState.FASTER], FailOn.ANY_DOUBT, 0),
        ([BenchmarkState.SAME, BenchmarkState.INSUFFICIENT], FailOn.SLOWER, 0),
        ([BenchmarkState.SAME, BenchmarkState.INSUFFICIENT], FailOn.ANY_DOUBT, 4),
        ([BenchmarkState.INSUFFICIENT, BenchmarkState.SLOWER], FailOn.ANY_DOUBT, 5),
        ([BenchmarkState.FAILED, BenchmarkState.SLOWER], FailOn.SLOWER, 5),
        ([BenchmarkState.FAILED], FailOn.SLOWER, 1),
        ([BenchmarkState.FAILED, BenchmarkState.SLOWER, BenchmarkState.INSUFFICIENT], FailOn.NEVER, 0),
    ],
)
def test_the_policy_decides_what_fails(states: list[BenchmarkState], fail_on: FailOn, status: int) -> None:
    assert exit_status(states, fail_on) == status
