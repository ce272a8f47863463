"""A trial by value: what the good run has is forced into the bad one, at the instructions that define it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from whyperf.collect.observation.sites import MOST_IN_ORDER, ObservationLimits, Observed, ObservedSite
from whyperf.diagnose.origin import Proof
from whyperf.proof.places import ForcedPlace, why_not_forced
from whyperf.proof.rounds import (
    ONCE,
    NotPutError,
    ProofRounds,
    ProofSide,
    Put,
    Trying,
    UsualRuns,
    not_testable,
    proof_of,
)
from whyperf.proof.sentences import NOT_IN_A_REGISTER, ProofClaim, sentence_of, was_not_forced
from whyperf.proof.trial import TrialKind

__all__ = ["ForcedPlace", "ProofSide", "Trying", "prove_value"]
_LOOKS = 2  # at each side: what differs between runs of one side has no order
Look = Callable[[TrialKind, ObservedSite, ObservationLimits], Observed]
_LIMITS = ObservationLimits(records=MOST_IN_ORDER, traps=MOST_IN_ORDER + 1)


def prove_value(
    good: ProofSide,
    bad: ProofSide,
    places: Sequence[ForcedPlace],
    claim: ProofClaim,
    trying: Trying = Trying(),  # noqa: B008 (frozen)
    *,
    usual: UsualRuns | None = None,
) -> Proof:
    """`usual`: good and bad runs of other such trials. WhyperfError where the programs cannot be run or observed at
    all."""
    return _ValueTrial(good, bad, places, trying, usual).proof(claim)


class _ValueTrial:
    def __init__(
        self,
        good: ProofSide,
        bad: ProofSide,
        places: Sequence[ForcedPlace],
        trying: Trying,
        usual: UsualRuns | None,
    ) -> None:
        self._places, self._trying = tuple(places), trying
        self._rounds = ProofRounds(good, bad, trying, self._put, self._order_changed, usual=usual)
        self._by_jump = False
        self._is_reached: bool | None = None  # in good runs; None: not known yet

    def proof(self, claim: ProofClaim) -> Proof:
        why_not = self._why_not()
        if why_not:
            return not_testable(claim, self._trying.measure, was_not_forced(claim, why_not))
        try:
            judgement = self._rounds.judged(from_outside=claim.from_outside)
        except NotPutError as error:
            return not_testable(claim, self._trying.measure, was_not_forced(claim, str(error).removesuffix(".")))
        sentence = sentence_of(claim, judgement, self._trying.measure)
        return proof_of(claim, judgement, self._rounds.done, self._trying.measure, sentence)

    def _why_not(self) -> str:
        if not self._places:
            return NOT_IN_A_REGISTER
        why_not = why_not_forced(self._places)
        if why_not:
            return why_not
        if not any(place.in_order for place in self._places):
            return self._look()
        try:
            self._places = tuple(
                with_values(place, self._looked) if place.in_order else place for place in self._places
            )
        except NoOrderError as error:
            return str(error)
        if not all(place.good and place.bad for place in self._places):
            return "the instruction that defines it does not run"
        return why_not_forced(self._places)

    def _looked(self, kind: TrialKind, site: ObservedSite, limits: ObservationLimits) -> Observed:
        return self._rounds.observed(kind, Put([site]), limits)

    def _look(self) -> str:
        """At one bad run: why nothing can be forced there, or an empty text."""
        seen = self._rounds.observed(TrialKind.BAD, Put([place.watched(TrialKind.BAD) for place in self._places]))
        self._by_jump = not all(seen.complete)
        for number, place in enumerate(self._places):
            if not seen.placed[number]:
                return f"the instruction at {place.address:#x} cannot be observed: {seen.refused[number]}"
        if not any(seen.hits):
            return "the instruction that defines it does not run in the bad run"
        if not all(place.holds_bad(seen, number) for number, place in enumerate(self._places)):
            return "the instruction that defines it holds other values in this bad run than were seen before"
        return ""

    def _put(self, kind: TrialKind) -> Put:
        if kind in (TrialKind.GOOD, TrialKind.BAD):
            return Put()
        if kind is TrialKind.REVERSE and not all(place.has_reverse for place in self._places):
            return Put(is_possible=False)
        if kind is TrialKind.REVERSE and self._by_jump and not self._reached_in_good():
            return Put(is_possible=False, is_reached=False)
        return Put([place.forced(kind, by_jump=self._by_jump) for place in self._places])

    def _reached_in_good(self) -> bool:
        """A site that is forced by a jump counts no hits: one good run that is only watched tells."""
        if self._is_reached is None:
            put = Put([place.watched(TrialKind.GOOD) for place in self._places])
            seen = self._rounds.observed(TrialKind.GOOD, put, ONCE)
            self._is_reached = any(seen.hits) or not all(seen.placed)
        return self._is_reached

    def _order_changed(self, kind: TrialKind, seen: Observed) -> str:
        """Forcing may change how often a place is passed: then the n-th time is no longer the n-th."""
        if kind in (TrialKind.GOOD, TrialKind.BAD):
            return ""
        for number, place in enumerate(self._places):
            values, hits, beyond = len(place.bad), seen.hits[number], seen.beyond[number]
            if place.in_order and hits != values:
                how = f"{beyond:,} times more often" if beyond else f"{values - hits:,} times less often"
                return f"with forced values it runs {how}, so that their order no longer agrees"
        return ""


class NoOrderError(Exception):
    """Why there is none: a part of a sentence."""


def with_values(place: ForcedPlace, look: Look) -> ForcedPlace:
    """The place with the values of all its calls in both runs: the n-th of one stands for the n-th of the other only
    where their order agrees, else NoOrderError.
    """
    good, bad = (_values(place, kind, look) for kind in (TrialKind.GOOD, TrialKind.BAD))
    if len(good) != len(bad):
        raise NoOrderError(
            f"its values change from call to call, and it runs {len(good):,} times in the good run, {len(bad):,} times "
            "in the bad run"
        )
    return replace(place, good=good, bad=bad)


def _values(place: ForcedPlace, kind: TrialKind, look: Look) -> tuple[int, ...]:
    first, *others = (_seen(place, look(kind, place.watched(kind), _LIMITS)) for _ in range(_LOOKS))
    if any(other != first for other in others):
        raise NoOrderError(f"its values change from call to call, in another order in every {kind.value} run")
    return first


def _seen(place: ForcedPlace, seen: Observed) -> tuple[int, ...]:
    if not seen.placed[0]:
        raise NoOrderError(f"the instruction at {place.address:#x} cannot be observed: {seen.refused[0]}")
    records = seen.of(0)
    if not seen.complete[0] or len(records) > MOST_IN_ORDER:
        raise NoOrderError(f"its values change from call to call, and it runs more than {MOST_IN_ORDER:,} times")
    if len(records) != seen.hits[0]:
        raise NoOrderError("its values change from call to call, and not all of them could be recorded")
    if len(np.unique(records["thread"])) > 1:
        raise NoOrderError("its values change from call to call, and several threads run it")
    return place.values_in(records)
