"""A trial by decision: conditional jumps of the bad run are forced to the branch that the good run always takes.

Most of what differs between two runs follows from something else. Several jumps are forced at once: if that leaves the
output as it is and removes nothing, none of them is the cause, and one run has shown it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from whyperf.collect.observation.plans import MOST_SITES
from whyperf.collect.observation.sites import Decided, ObservedSite
from whyperf.diagnose.origin import Proof, ProofFinding
from whyperf.errors import WhyperfError
from whyperf.proof.guards import Checked, GuardReason, always_crashes
from whyperf.proof.judging import ProofJudgement, stopped_run
from whyperf.proof.rounds import (
    NotPutError,
    ProofRounds,
    ProofSide,
    Put,
    Trying,
    UsualRuns,
    not_testable,
    proof_of,
    wrote_nothing,
)
from whyperf.proof.screening import Screening
from whyperf.proof.sentences import ProofClaim, crashes_anyway, later_decisions, sentence_of, was_not_forced
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun

_FOR_LOOKS = 0.6  # of the time; the rest is for the trial
_MOST_TOLD = 3
"""So that a report stays readable; nobody has measured it, and it changes no rank."""
_ENDINGS = {
    RunEnding.CRASHED: GuardReason.CRASHED,
    RunEnding.STOPPED: GuardReason.STOPPED,
    RunEnding.FAILED: GuardReason.FAILED,
}


@dataclass(frozen=True)
class DecisionPlace:
    claim: ProofClaim
    jump: ObservedSite
    """The conditional jump; nothing is asked of it yet."""
    taken_in_good: bool
    """It always is there, or never."""

    def put(self, kind: TrialKind) -> ObservedSite:
        ways = {TrialKind.FORCED: self.taken_in_good, TrialKind.REVERSE: not self.taken_in_good}
        return ObservedSite(self.jump.module, self.jump.address, decided=Decided(ways.get(kind)))


class OfInput(Enum):
    """What a decision about the input itself tests."""

    HANDED_ON = "handed-on"  # a value as it came from outside
    MADE = "made"  # what the program makes of it


class OutOf(Enum):
    """Why decisions are left untried."""

    TIME = "time"
    LOOKS = "looks"


class Effect(Enum):
    """Of jumps that are forced together."""

    REMOVES = "removes"  # most of the excess
    NOTHING = "nothing"
    OTHER_WORK = "other-work"  # it crashes, or writes something else


def prove_decision(
    good: ProofSide,
    bad: ProofSide,
    places: Sequence[DecisionPlace],
    trying: Trying = Trying(),  # noqa: B008 (frozen)
    *,
    of_input: Callable[[DecisionPlace], OfInput | None] = lambda _place: None,
    most_looks: int,
    usual: UsualRuns | None = None,
    on_untried: Callable[[OutOf], None] = lambda _of: None,
) -> tuple[Proof, ...]:
    """Of the first of these decisions that removes most of the excess in one run and is not about the input itself; of
    the first one about the input where no other does. Where none does in so many looks, those with which the program
    does other work, if they are few. There is a part of the time for looks; `on_untried` is called if one of them was
    too little. WhyperfError where the programs cannot be run at all."""
    chosen: list[DecisionPlace] = []

    def put(kind: TrialKind) -> Put:
        return Put() if kind in (TrialKind.GOOD, TrialKind.BAD) else Put([one.put(kind) for one in chosen])

    rounds = ProofRounds(good, bad, trying, put, usual=usual)
    if not places:
        return ()
    if rounds.is_time_up:
        on_untried(OutOf.TIME)
        return ()
    looking = _Looking(rounds, places, trying, most_looks)
    if not looking.screening.has_excess():
        return ()
    if crashes := always_crashes(rounds.runs):
        raise WhyperfError(f"No branch was forced: {crashes_anyway(crashes, 'the program')}.")
    inputs = dict[int, OfInput]()
    while (first := looking.next_that_removes()) is not None and (tested := of_input(places[first])) is not None:
        inputs[first] = tested
    if looking.out_of is not None:
        on_untried(looking.out_of)
    if first is None and not inputs:
        few = looking.out_of is None and len(looking.other_work) <= _MOST_TOLD
        return tuple(looking.other_work) if few else ()
    best = next(iter(inputs)) if first is None else first
    chosen.append(places[best])
    claim = replace(chosen[0].claim, from_outside=first is None, is_made=inputs.get(best) is OfInput.MADE)
    try:
        judgement = _if_checked(rounds.judged(from_outside=claim.from_outside), rounds.runs[TrialKind.BAD])
    except NotPutError as error:
        return (not_testable(claim, trying.measure, was_not_forced(claim, str(error).removesuffix("."))),)
    sentence = sentence_of(claim, judgement, trying.measure)
    if judgement.finding is ProofFinding.PROVEN:
        sentence += later_decisions([places[one].claim for one in looking.others_that_remove(_MOST_TOLD)])
    return (proof_of(claim, judgement, rounds.done, trying.measure, sentence),)


class _Looking:
    """For decisions that remove most of the excess, one after the other, as far as looks and their time last."""

    def __init__(self, rounds: ProofRounds, places: Sequence[DecisionPlace], trying: Trying, most_looks: int) -> None:
        self.screening = Screening(rounds)
        self.out_of: OutOf | None = None
        """What the search has ended for."""
        self.other_work: list[Proof] = []
        """Of decisions with which, forced alone, the program does other work."""
        self._rounds, self._places, self._measure = rounds, places, trying.measure
        self._looks_left = most_looks
        self._ends = math.inf if trying.budget_s is None else time.monotonic() + _FOR_LOOKS * trying.budget_s
        self._left = list(range(len(places)))

    def next_that_removes(self) -> int | None:
        """After those found so far, and in another line."""
        found = first_that_removes(self._left, self._effect)
        if found is not None:
            line = _line(self._places[found])
            self._left = [one for one in self._left if one > found and _line(self._places[one]) != line]
        return found

    def others_that_remove(self, most: int) -> Iterator[int]:
        while most and (found := self.next_that_removes()) is not None:
            most -= 1
            yield found

    def _effect(self, numbers: Sequence[int]) -> Effect | None:
        if len(numbers) > MOST_SITES:
            return Effect.OTHER_WORK  # as far as one run can show
        is_late = self._rounds.is_time_up or time.monotonic() > self._ends
        if is_late or not self._looks_left:
            self.out_of = OutOf.TIME if is_late else OutOf.LOOKS
            return None
        self._looks_left -= 1
        try:
            seen = self.screening.forced(Put([self._places[number].put(TrialKind.FORCED) for number in numbers]))
        except NotPutError:
            return Effect.OTHER_WORK
        if seen.is_sound:
            return Effect.REMOVES if seen.tells else Effect.NOTHING
        if len(numbers) == 1:
            self.other_work.append(self._of_other_work(self._places[numbers[0]].claim, seen.run))
        return Effect.OTHER_WORK

    def _of_other_work(self, claim: ProofClaim, run: TrialRun) -> Proof:
        reason = _ENDINGS.get(run.ending, GuardReason.OUTPUT)
        judgement = ProofJudgement(ProofFinding.NOT_TESTABLE, reason, stopped=stopped_run(run, self._rounds.runs))
        sentence = sentence_of(claim, judgement, self._measure)
        return proof_of(claim, judgement, 0, self._measure, sentence)  # no whole round was made


def _line(one: DecisionPlace) -> tuple[str, int]:
    return one.claim.file, one.claim.line


def _if_checked(judgement: ProofJudgement, usual: Sequence[TrialRun]) -> ProofJudgement:
    """A forced decision may leave out work: it is proven only if every byte of some output is the same."""
    if judgement.finding is not ProofFinding.PROVEN:
        return judgement
    is_silent = all(wrote_nothing(run) for run in usual)
    checked = Checked.SILENT if is_silent else judgement.checked
    if checked is Checked.OUTPUT:
        return judgement
    return replace(judgement, finding=ProofFinding.SUPPORTED, checked=checked)


def first_that_removes(numbers: Sequence[int], effect: Callable[[Sequence[int]], Effect | None]) -> int | None:
    """By halves. None as an effect: there is no room for another look."""
    found = effect(numbers) if numbers else None
    if found is None or found is Effect.NOTHING:
        return None
    if len(numbers) == 1:
        return numbers[0] if found is Effect.REMOVES else None
    middle = (len(numbers) + 1) // 2
    first = first_that_removes(numbers[:middle], effect)
    return first if first is not None else first_that_removes(numbers[middle:], effect)
