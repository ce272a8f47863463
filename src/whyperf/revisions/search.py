"""A binary search whose answers are uncertain: which commit is the first slow one?

Every commit has a probability of being the first slow one. A comparison multiplies the probabilities by how likely its
times are if the compared commit is slow, or fast; the next one is at the commit that halves what is left. A comparison
that tells little leaves the probabilities almost as they were, and is repeated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from whyperf.revisions.noise import Batch, noise_of

_LEAST_GAP = 1.0  # standard errors; the diagnosis of both ends, which came before, was stricter


@dataclass(frozen=True)
class SearchSettings:
    sure: float = 0.95  # stop there
    most_comparisons: int = 30
    fewest_calibrations: int = 5  # rounds of the two ends alone
    most_calibrations: int = 20
    clear: float = 3.0  # standard errors between the ends, at which calibration ends early
    fewest_rounds: int = 2  # of a comparison
    most_rounds: int = 8
    decided: float = math.log(1000.0)  # a comparison ends early when so much likelier slow than fast, or fast than slow


class Unmeasurable(Exception):  # noqa: N818 - nothing went wrong
    """A commit that does not build, or whose command fails: why, in a sentence."""


class CommitRuns(Protocol):
    """Who runs the programs. Times are logarithms of seconds."""

    def ends(self) -> tuple[float, float]:
        """A good and a bad run."""

    def beside_ends(self, commit: int) -> tuple[float, float, float]:
        """A good run, one of this commit and a bad one, in changing order. Unmeasurable where it cannot be run."""

    def is_over(self) -> bool:
        """Whether the time that the user allows is used up."""


class SearchEnding(Enum):
    FOUND = "found"
    COMPARISONS = "most comparisons reached"
    BUDGET = "budget used up"
    NO_GAP = "the ends do not differ"


@dataclass(frozen=True)
class CommitComparison:
    commit: int
    batch: Batch


@dataclass(frozen=True)
class CommitRange:
    """Commits that no measurable one tells apart; one, if all could be measured."""

    first: int
    last: int
    probability: float


@dataclass(frozen=True)
class Progressed:
    """What is known so far."""

    prior: tuple[float, ...]
    calibration: Batch
    comparisons: tuple[CommitComparison, ...] = ()
    skipped: Mapping[int, str] = field(default_factory=dict)

    @property
    def log_ratios(self) -> list[float]:
        """Of the comparisons, by what is known of the noise now."""
        noise = noise_of([self.calibration, *(one.batch for one in self.comparisons)])
        return [noise.log_ratio(one.batch) for one in self.comparisons]

    @property
    def posterior(self) -> list[float]:
        ratios = list(zip((one.commit for one in self.comparisons), self.log_ratios, strict=True))
        logs = [
            math.log(share) + math.fsum(ratio for commit, ratio in ratios if first <= commit)
            for first, share in enumerate(self.prior)
        ]
        highest = max(logs)
        weights = [math.exp(one - highest) for one in logs]
        whole = math.fsum(weights)
        return [weight / whole for weight in weights]

    @property
    def answer(self) -> CommitRange:
        posterior = self.posterior
        return max(
            (CommitRange(a, b, math.fsum(posterior[a : b + 1])) for a, b in alike(len(posterior), self.skipped)),
            key=lambda one: one.probability,
        )


@dataclass(frozen=True)
class SearchResult:
    state: Progressed
    ending: SearchEnding


def alike(commits: int, skipped: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of commits that only skipped ones separate: the skipped ones and the next that was not."""
    unmeasured = set(skipped)
    groups, first = [], 0
    for commit in range(commits):
        if commit not in unmeasured or commit == commits - 1:
            groups.append((first, commit))
            first = commit + 1
    return groups


def next_commit(posterior: Sequence[float], skipped: Iterable[int]) -> int | None:
    """Which one to measure: that halves the probability best. The last one is known to be slow."""
    unmeasured, before, best = set(skipped), 0.0, (1.0, -1)
    for commit, share in enumerate(posterior[:-1]):
        before += share
        if commit not in unmeasured:
            best = min(best, (abs(before - 0.5), commit))
    return None if best[1] < 0 else best[1]


def find(prior: Sequence[float], runs: CommitRuns, settings: SearchSettings) -> Iterable[Progressed | SearchResult]:
    """Yields what is known after each comparison, and in the end what was found."""
    state = Progressed(tuple(prior), _calibrated(runs, settings))
    if _standard_errors(state.calibration) < _LEAST_GAP:
        yield SearchResult(state, SearchEnding.NO_GAP)
        return
    while True:
        yield state
        is_sure = state.answer.probability >= settings.sure
        commit = _open_end(state) if is_sure else next_commit(state.posterior, state.skipped)
        if commit is None:
            break
        if len(state.comparisons) >= settings.most_comparisons:
            yield SearchResult(state, SearchEnding.COMPARISONS)
            return
        if runs.is_over():
            yield SearchResult(state, SearchEnding.BUDGET)
            return
        try:
            batch = _compared(state, commit, runs, settings)
        except Unmeasurable as reason:
            skipped = {**state.skipped, commit: str(reason)}
            state = Progressed(state.prior, state.calibration, state.comparisons, skipped)
            continue
        comparisons = (*state.comparisons, CommitComparison(commit, batch))
        state = Progressed(state.prior, state.calibration, comparisons, state.skipped)
    yield SearchResult(state, SearchEnding.FOUND)


def _open_end(state: Progressed) -> int | None:
    """A commit at an end of the answer that nobody has looked at: its probability is only what was thought before."""
    answer, compared = state.answer, {one.commit for one in state.comparisons}
    ends = [answer.first - 1, answer.last]
    return next((one for one in ends if 0 <= one < len(state.prior) - 1 and one not in compared), None)


def _calibrated(runs: CommitRuns, settings: SearchSettings) -> Batch:
    batch = Batch((), ())
    for number in range(1, settings.most_calibrations + 1):
        good, bad = runs.ends()
        batch = Batch((*batch.good, good), (*batch.bad, bad))
        if number >= settings.fewest_calibrations and _standard_errors(batch) >= settings.clear:
            break
    return batch


def _standard_errors(calibration: Batch) -> float:
    """Between the ends' medians."""
    noise = noise_of([calibration])
    typical = statistics.median(abs(one) for one in noise.scatter) * 1.4826
    error = 1.2533 * max(typical, 1e-9) * math.sqrt(2 / len(calibration.good))
    return 2 * noise.half_gap / error


def _compared(state: Progressed, commit: int, runs: CommitRuns, settings: SearchSettings) -> Batch:
    batch = Batch((), ())
    for number in range(1, settings.most_rounds + 1):
        good, candidate, bad = runs.beside_ends(commit)
        batch = Batch((*batch.good, good), (*batch.bad, bad), (*batch.candidate, candidate))
        noise = noise_of([state.calibration, *(one.batch for one in state.comparisons), batch])
        if number >= settings.fewest_rounds and abs(noise.log_ratio(batch)) >= settings.decided:
            break
    return batch
