"""Which functions answer for more time in the bad runs than noise explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from whyperf.engines.contexts.costs import ContextCosts
from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.records import Ints
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.run import Floats, sums
from whyperf.engines.student_t import student_99


@dataclass(frozen=True)
class Slower:
    """A function that answers for more time in the bad runs. Seconds are per unit; in shares where that is the unit."""

    function: int
    node: int  # the context in which it answers for most
    good_runs: tuple[float, ...]
    bad_runs: tuple[float, ...]
    share: float  # of the excess
    low: float
    high: float
    sigma: float
    sampling_sigma: float  # by the chance of sampling alone
    separated: bool

    @property
    def good(self) -> float:
        return sum(self.good_runs) / len(self.good_runs)

    @property
    def bad(self) -> float:
        return sum(self.bad_runs) / len(self.bad_runs)


def judge(
    contexts: Contexts,
    answers: Ints,
    sides: tuple[ContextCosts, ContextCosts],
    spent: Floats,
    settings: ContextsSettings,
) -> tuple[Slower, ...]:
    """Functions that stand out, most first. `spent` is the excess by node, every second once."""
    functions = len(contexts.index.functions)
    whose = contexts.function[answers]
    whose = np.where(whose >= 0, whose, functions)  # what has no stack

    def by_function(own: Floats) -> Floats:
        return sums(whose, own, functions + 1)[:functions]

    good_runs, bad_runs = (np.array([by_function(own) for own in costs.own]) for costs in sides)
    share = by_function(spent) / max(float(spent.sum()), 1e-12)
    excess = bad_runs.mean(axis=0) - good_runs.mean(axis=0)
    both = zip(sides, (good_runs, bad_runs), strict=True)
    error = np.sqrt(sum(_variance(costs, runs, by_function) for costs, runs in both))
    sampling_error = np.sqrt(sum(_sampling_variance(costs, by_function) for costs in sides))
    total_good = float(good_runs.sum(axis=1).mean())
    if total_good <= 0 or spent.sum() < settings.relative * total_good:
        return ()
    heaviest = _heaviest_context(contexts, answers, spent)
    found = []
    for function in np.flatnonzero(share >= settings.suspect_share).tolist():
        figures = Slower(
            function,
            heaviest[function],
            tuple(good_runs[:, function].tolist()),
            tuple(bad_runs[:, function].tolist()),
            float(min(1.0, share[function])),
            *_interval(share[function], excess[function], error[function], settings),
            sigma=_sigmas(excess[function], error[function]),
            sampling_sigma=_sigmas(excess[function], sampling_error[function]),
            separated=bool(bad_runs[:, function].min() > good_runs[:, function].max()),
        )
        if _stands_out(figures, float(excess[function]), total_good, settings):
            found.append(figures)
    return tuple(sorted(found, key=lambda one: (-one.share, one.function)))


def _stands_out(one: Slower, excess: float, total_good: float, settings: ContextsSettings) -> bool:
    """Three conditions as for the symptom itself: separation, more than the spread between runs, and a floor."""
    if not one.separated:
        return False
    # What any two runs would show alone, more of them cannot make doubtful: the spread of few runs is hardly known, and
    # that of the bad ones grows with what is wrong.
    gap = min(one.bad_runs) - max(one.good_runs)
    distinct = one.sigma >= settings.sigma
    if distinct and gap >= settings.single_relative * total_good:
        return True
    if one.sampling_sigma >= settings.sigma and gap >= settings.single_certain * total_good:
        return True
    good, bad = len(one.good_runs), len(one.bad_runs)
    if min(good, bad) < 2:
        return False
    freedom = good + bad - 2
    squares = sum(
        (value - mean) ** 2 for runs, mean in ((one.good_runs, one.good), (one.bad_runs, one.bad)) for value in runs
    )
    needed = student_99(freedom) * sqrt(squares / freedom) * sqrt(1 / good + 1 / bad)
    return distinct and excess >= settings.relative * total_good and excess > needed


def _variance(costs: ContextCosts, runs: Floats, by_function: Callable[[Floats], Floats]) -> Floats:
    """Of the mean over runs: the spread between them, of a single run what chance alone makes of it.

    A few runs agree by luck, but not better than samples can tell.
    """
    count = len(costs.runs)
    if count > 1:
        spread: Floats = np.maximum(runs.var(axis=0, ddof=1) / count, _sampling_variance(costs, by_function))
        return spread
    return by_function(costs.costs[0].sampled_squares + costs.costs[0].blocked_squares)


def _sampling_variance(costs: ContextCosts, by_function: Callable[[Floats], Floats]) -> Floats:
    """Of the mean over runs."""
    squares: Floats = np.sum([cost.sampled_squares for cost in costs.costs], axis=0) / len(costs.runs) ** 2
    return by_function(squares)


def _sigmas(excess: float, error: float) -> float:
    return float(excess / error) if error > 0 else inf


def _interval(share: float, excess: float, error: float, settings: ContextsSettings) -> tuple[float, float]:
    margin = settings.interval_sigma * error / excess * share if excess > 0 else 0.0
    return float(max(0.0, share - margin)), float(min(1.0, share + margin))


def _heaviest_context(contexts: Contexts, answers: Ints, spent: Floats) -> dict[int, int]:
    """By function the answering node with most of the excess."""
    by_node = sums(answers, spent, len(contexts))
    found: dict[int, int] = {}
    for node in np.argsort(by_node, kind="stable").tolist():
        found[int(contexts.function[node])] = node
    return found
