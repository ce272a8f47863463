"""Slower, faster, no difference or not enough data: the same statistics as every verdict's, both ways round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whyperf.ci.result import Figures
from whyperf.ci.state import BenchmarkState
from whyperf.ci.wording import below_threshold, changed, memory_only, more_work, too_noisy, unchanged
from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.significance import Direction, Measure, judge, runs_needed
from whyperf.diagnose.settings import DiagnoseSettings, Floors
from whyperf.diagnose.verdict import MEMORY_MEASURES, Symptom, Verdict, VerdictKind

_SETTINGS = DiagnoseSettings()


@dataclass(frozen=True)
class JudgedBenchmark:
    state: BenchmarkState
    sentence: str
    figures: Figures
    verdict: Verdict  # whose suspects explain the change


def judge_change(forward: Verdict, backward: Callable[[], Verdict], threshold: float) -> JudgedBenchmark:
    """`forward` takes the base for the good runs; `backward`, asked only where nothing grew, the head.

    A head is called faster where the base would be called slower than it.
    """
    figures = figures_of(forward.symptom)
    if forward.kind is VerdictKind.MORE_WORK:
        return JudgedBenchmark(BenchmarkState.SAME, more_work(figures), figures, forward)
    if _grew(forward):
        found = JudgedBenchmark(BenchmarkState.SLOWER, changed(figures), figures, forward)
        return _if_beyond(threshold, found, forward)
    if forward.kind is VerdictKind.INSUFFICIENT:
        return _unclear(forward, figures, threshold)
    reverse = backward()
    if _grew(reverse):
        figures = _swapped(figures_of(reverse.symptom))
        return _if_beyond(
            threshold, JudgedBenchmark(BenchmarkState.FASTER, changed(figures), figures, reverse), forward
        )
    if forward.symptom.measure in MEMORY_MEASURES:
        figures = _swapped(figures_of(reverse.symptom)) if reverse.symptom.measure not in MEMORY_MEASURES else figures
        return JudgedBenchmark(BenchmarkState.SAME, memory_only(figures, forward.symptom), figures, forward)
    return JudgedBenchmark(BenchmarkState.SAME, unchanged(figures), figures, forward)


def _if_beyond(threshold: float, found: JudgedBenchmark, forward: Verdict) -> JudgedBenchmark:
    """A change that is certain, if it is large enough to tell of."""
    less, more = sorted((found.figures.base, found.figures.head))
    if more > less * (1 + threshold):
        return found
    return JudgedBenchmark(BenchmarkState.SAME, below_threshold(found.figures, threshold), found.figures, forward)


def figures_of(symptom: Symptom) -> Figures:
    judgement = judge(_measure(symptom), _floors(symptom))
    return Figures(
        symptom.measure,
        symptom.unit,
        symptom.good,
        symptom.bad,
        symptom.good_runs,
        symptom.bad_runs,
        judgement.detectable,
    )


def _grew(verdict: Verdict) -> bool:
    """Beyond doubt, and in time. Too few samples to name a function are no doubt that it grew."""
    symptom = verdict.symptom
    if symptom.measure in MEMORY_MEASURES:
        return False
    if verdict.kind is VerdictKind.INSUFFICIENT:
        return judge(_measure(symptom), _floors(symptom)).change is Direction.GREW
    return verdict.kind is VerdictKind.DIFFERENCE


def _unclear(verdict: Verdict, figures: Figures, threshold: float) -> JudgedBenchmark:
    measure, floors = _measure(verdict.symptom), _floors(verdict.symptom)
    spread = judge(measure, floors).spread
    if figures.relative + figures.detectable < threshold:
        # Whatever the truth is, it is no change that this benchmark's owner wants to hear of.
        return JudgedBenchmark(BenchmarkState.SAME, below_threshold(figures, threshold), figures, verdict)
    needed = runs_needed(measure, floors, _SETTINGS.usual_runs, _SETTINGS.most_runs_to_ask_for)
    return JudgedBenchmark(BenchmarkState.INSUFFICIENT, too_noisy(figures, spread, needed), figures, verdict)


def _measure(symptom: Symptom) -> Measure:
    good, bad = symptom.good_runs or (symptom.good,), symptom.bad_runs or (symptom.bad,)
    return Measure(symptom.measure, good, bad)


def _floors(symptom: Symptom) -> Floors:
    if symptom.measure.startswith(PREFIX):
        return _SETTINGS.latency
    return _SETTINGS.wall if symptom.measure in ("wall_s", "own_s") else _SETTINGS.cpu


def _swapped(figures: Figures) -> Figures:
    return Figures(
        figures.measure,
        figures.unit,
        figures.head,
        figures.base,
        figures.head_runs,
        figures.base_runs,
        figures.detectable,
    )
