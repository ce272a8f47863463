"""Finds which of several changes removes the excess: those that suspects ask for first, then all of them by halves.

Single runs tell which are worth a whole trial.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from whyperf.collect.observation.sites import ObservedSite
from whyperf.diagnose.origin import Proof
from whyperf.proof.rounds import (
    ONCE,
    NotPutError,
    ProofRounds,
    ProofSide,
    Put,
    Trying,
    not_testable,
    proof_of,
    usual_runs,
)
from whyperf.proof.sentences import ProofClaim, sentence_of
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun, excess, middle

_BASE_RUNS = 2  # good and bad ones, with which single runs are compared
_MOST_GONE = 0.5
_UNCLEAR = (0.25, 0.75)  # a share in one run that another run must confirm
_MOST_TOGETHER = 8  # changes that are shown to matter only together

_MOST_FAILED = 12  # parts of the changes with which the program does not run

_Change = TypeVar("_Change", bound=Hashable)
PutIn = Callable[[TrialKind, Sequence[_Change]], Put]
"""What a run of a kind gets for these changes. NotPutError where that cannot be; its text is a whole sentence."""


class Search(Generic[_Change]):
    def __init__(self, good: ProofSide, bad: ProofSide, trying: Trying, put: PutIn[_Change]) -> None:
        self._good, self._bad, self._trying, self._put = good, bad, trying, put
        self._begun = time.monotonic()
        self._usual = usual_runs()
        self._failed = 0
        self._tried: dict[frozenset[_Change], bool | None] = {}
        self._rounds = ProofRounds(good, bad, trying, lambda kind: put(kind, ()), usual=self._usual)

    def found(self, first: Sequence[_Change], *groups: Callable[[], Sequence[_Change]]) -> list[_Change]:
        """Changes that remove most of the excess; empty: none do, or there is none. Groups, which are searched by
        halves, are asked for only where none of the first ones does."""
        if not (first or any(group() for group in groups)) or not self._measure_usual():
            return []
        for one in first:
            if self.is_time_up:
                return []
            if self._removes_most([one]):
                return [one]
        for number, group in enumerate(groups, 1):
            self._failed, some = 0, group()
            is_in_vain = len(some) == 1 and number < len(groups) and not self._removes_most(some)
            if not is_in_vain and (found := self._by_halves(some)):
                return found
        return []

    def proof(self, claim: ProofClaim, changes: Sequence[_Change]) -> Proof:
        """A whole trial."""
        trying = replace(self._trying, budget_s=self._left_s())
        rounds = ProofRounds(self._good, self._bad, trying, lambda kind: self._put(kind, changes), usual=self._usual)
        rounds.slowest_s = self._rounds.slowest_s
        try:
            judgement = rounds.judged(is_code=True)
        except NotPutError as error:
            return self.untestable(claim, str(error))
        measure = self._trying.measure
        return proof_of(claim, judgement, rounds.done, measure, sentence_of(claim, judgement, measure))

    def is_passed(self, sites: Sequence[ObservedSite]) -> list[bool]:
        """Of each site, whether a bad run passes it, or that cannot be seen."""
        seen = self._rounds.observed(TrialKind.BAD, Put(sites), ONCE)
        return [hits > 0 or not placed for hits, placed in zip(seen.hits, seen.placed, strict=True)]

    def first_passed(self, sites: Sequence[ObservedSite]) -> int | None:
        """Which of the sites a bad run passes first; None: none that can be seen."""
        records = self._rounds.observed(TrialKind.BAD, Put(sites), ONCE).records
        return int(records["site"][0]) if len(records) else None

    def untestable(self, claim: ProofClaim, why: str) -> Proof:
        return not_testable(claim, self._trying.measure, why)

    @property
    def is_time_up(self) -> bool:
        left = self._left_s()
        return left is not None and left <= 0

    def _left_s(self) -> float | None:
        budget = self._trying.budget_s
        return None if budget is None else budget - (time.monotonic() - self._begun)

    def _measure_usual(self) -> bool:
        """Whether there is an excess to explain."""
        for _ in range(_BASE_RUNS):
            for kind, runs in self._usual.items():
                runs.append(self._rounds.run(kind, self._put(kind, ())))
        return excess(self._usual) > 0

    def _by_halves(self, some: Sequence[_Change]) -> list[_Change]:
        """The smallest part of them that removes most; empty: none does, or no time is left to tell which."""
        if len(some) <= 1:
            return list(some)
        gone = None if self.is_time_up else self._removes_most(some)
        self._failed += gone is None
        if gone is False or self._failed > _MOST_FAILED:
            return []
        middle = len(some) // 2
        for half in (some[:middle], some[middle:]):
            if not self.is_time_up and (len(half) > 1 or self._removes_most(half)):
                found = self._by_halves(half)
                if found:
                    return found
        return list(some) if gone and len(some) <= _MOST_TOGETHER and not self.is_time_up else []

    def _removes_most(self, changes: Sequence[_Change]) -> bool | None:
        """None: with these it does not run as it should, so that nothing is known of any of them. What was tried once
        is not tried again: those that suspects ask for come back as the last halves of all."""
        key = frozenset(changes)
        if key not in self._tried:
            self._tried[key] = self._try(changes)
        return self._tried[key]

    def _try(self, changes: Sequence[_Change]) -> bool | None:
        shares: list[float] = []
        try:
            put = self._put(TrialKind.FORCED, changes)
            while len(shares) < 2:
                run = self._rounds.run(TrialKind.FORCED, put)
                if not self._is_sound(run):
                    return None
                shares.append((middle(self._usual, TrialKind.BAD) - run.amount) / excess(self._usual))
                if not _UNCLEAR[0] < shares[-1] < _UNCLEAR[1]:
                    break
        except NotPutError:
            return None
        return statistics.mean(shares) > _MOST_GONE

    def _is_sound(self, run: TrialRun) -> bool:
        """It ended as the others did; whether it wrote the same is for the whole trial to say."""
        return run.ending is RunEnding.EXITED and run.status == self._usual[TrialKind.BAD][0].status
