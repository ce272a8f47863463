"""The sentences about a benchmark."""

from __future__ import annotations

from whyperf.ci.result import Figures
from whyperf.diagnose.verdict import Symptom
from whyperf.engines.quantities import percent, seconds

_MEASURES = {
    "cpu_s": "CPU time",
    "sampled_cpu_s": "sampled CPU time",
    "wall_s": "wall time",
    "own_s": "time without the run queue",
    "latency_p50_s": "median latency",
    "latency_p99_s": "p99 latency",
}
_TWICE = 1.0  # relative change from which on it is said in times


def measure_name(figures: Figures) -> str:
    return _MEASURES.get(figures.measure, figures.measure)


def amount(figures: Figures) -> str:
    """By how much it changed: +12%, 4.0 times, -30%."""
    relative = figures.relative
    if relative == float("inf"):
        return "from nothing"
    if relative >= _TWICE:
        return f"{relative + 1:.1f} times"
    return f"{100 * relative:+.0f}%" if abs(relative) >= 0.1 else f"{100 * relative:+.1f}%"


def changed(figures: Figures) -> str:
    relative, what = figures.relative, measure_name(figures)
    if relative >= _TWICE:
        said = f"{amount(figures)} the {what}"
    else:
        said = f"{percent(abs(relative))} {'more' if relative > 0 else 'less'} {what}"
    return f"{said} per {figures.unit}: {_from_to(figures)} ({_runs(figures)})."


def below_threshold(figures: Figures, threshold: float) -> str:
    return f"{_stated(figures)}: {amount(figures)}, within the threshold of {percent(threshold)}."


def unchanged(figures: Figures) -> str:
    return f"{_stated(figures)}. A change of {percent(figures.detectable)} or more would have shown."


def more_work(figures: Figures) -> str:
    return f"More work at the same cost: {_stated(figures)}."


def memory_only(figures: Figures, symptom: Symptom) -> str:
    peak = f"Peak memory grew from {symptom.good / 1e6:,.0f} MB to {symptom.bad / 1e6:,.0f} MB"
    return f"{peak}; time did not." if figures.measure not in _MEASURES else f"{unchanged(figures)} {peak}."


def too_noisy(figures: Figures, spread: float, pairs: int | None) -> str:
    cure = f"about {pairs} pairs of runs would tell" if pairs else "run it longer, or on a quieter machine"
    return f"{_stated(figures)}, but runs of one revision differ by {seconds(spread)}: {cure}."


def too_few_pairs(pairs: int, needed: int, why: str) -> str:
    had = "no pair of runs" if pairs == 0 else "1 pair of runs" if pairs == 1 else f"{pairs} pairs of runs"
    return f"{why}: {had}, and {needed} are the least that can be judged."


def _stated(figures: Figures) -> str:
    return f"{measure_name(figures)} per {figures.unit} {_from_to(figures)} ({_runs(figures)})"


def _from_to(figures: Figures) -> str:
    return f"{seconds(figures.base)} → {seconds(figures.head)}"


def _runs(figures: Figures) -> str:
    return f"{len(figures.base_runs)}+{len(figures.head_runs)} runs"
