"""A trial by value: what the good run has is forced into the bad one, at the instructions that define it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from whyperf.collect.observation.recorder import MOST_ROOM
from whyperf.collect.observation.sites import MOST_IN_ORDER, ObservationLimits, Observed, ObservedSite
from whyperf.diagnose.origin import Proof
from whyperf.proof.places import ForcedPlace, Places, why_not_forced
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

__all__ = ["ForcedPlace", "ProofSide", "Trying", "ValueTrial", "prove_value"]
_LOOKS = 2  # at each side: what differs between runs of one side has no order
_MOST_TOGETHER = MOST_ROOM // MOST_IN_ORDER  # places whose values can all be recorded in one run
Look = Callable[[TrialKind, Sequence[ObservedSite], ObservationLimits], Observed]
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
    """`places`: an instruction, and copies of it. Copies that do not hold its values are left alone. `usual`: good and
    bad runs of other such trials. WhyperfError where the programs cannot be run or observed at all."""
    proof = ValueTrial(good, bad, places, claim, trying, usual=usual).proof()
    assert proof is not None
    return proof


class ValueTrial:
    """As `prove_value`, which goes through without a pause."""

    def __init__(
        self,
        good: ProofSide,
        bad: ProofSide,
        places: Sequence[ForcedPlace],
        claim: ProofClaim,
        trying: Trying,
        *,
        usual: UsualRuns | None,
    ) -> None:
        self._places, self._claim, self._trying = tuple(places), claim, trying
        self._rounds = ProofRounds(good, bad, trying, self._put, self._order_changed, usual=usual)
        self._by_jump = False
        self._is_reached: bool | None = None  # in good runs; None: not known yet

    @property
    def removed_in_part(self) -> float:
        """What the first round showed, of a trial that paused."""
        return self._rounds.removed_in_part or 0.0

    def proof(self, *, pauses: bool = False, most_runs: int | None = None) -> Proof | None:
        """None: the first round shows that only a part of the excess is gone, and `pauses` was asked for. Asked again,
        it goes on. `most_runs`: of each kind, if that has changed since the trial began."""
        claim, is_first = self._claim, self._rounds.removed_in_part is None
        why_not = self._why_not() if is_first else ""
        if why_not:
            return not_testable(claim, self._trying.measure, was_not_forced(claim, why_not))
        try:
            judgement = self._rounds.judged(from_outside=claim.from_outside, pauses=pauses, most_runs=most_runs)
        except NotPutError as error:
            return not_testable(claim, self._trying.measure, was_not_forced(claim, str(error).removesuffix(".")))
        if is_first and self._rounds.removed_in_part is not None:
            return None
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
            self._places = with_values(self._places[:_MOST_TOGETHER], self._looked)
        except NoOrderError as error:
            return str(error)
        if not (self._places[0].good and self._places[0].bad):
            return "the instruction that defines it does not run"
        return why_not_forced(self._places)

    def _looked(self, kind: TrialKind, sites: Sequence[ObservedSite], limits: ObservationLimits) -> Observed:
        return self._rounds.observed(kind, Put(sites), limits)

    def _look(self) -> str:
        """At one bad run: why nothing can be forced there, or an empty text. Of copies at a good run as well."""
        seen = self._watched(TrialKind.BAD, self._places)
        first = self._places[0]
        if not seen.placed[0]:
            return f"the instruction at {first.address:#x} cannot be observed: {seen.refused[0]}"
        if not seen.hits[0]:
            return "the instruction that defines it does not run in the bad run"
        if not len(seen.of(0)):
            return "its values could not be recorded in the bad run"
        if not first.holds(TrialKind.BAD, seen, 0):
            return "the instruction that defines it holds other values in this bad run than were seen before"
        alike = self._alike(TrialKind.BAD, seen, self._places)
        in_good = [one for one in alike if one.has_reverse]
        if len(alike) > 1 and in_good:
            of_good = self._watched(TrialKind.GOOD, in_good)
            kept = set(self._alike(TrialKind.GOOD, of_good, in_good))
            self._is_reached = any(
                one in kept and (hits or not is_placed)
                for one, hits, is_placed in zip(in_good, of_good.hits, of_good.placed, strict=True)
            )
            alike = [one for one in alike if one in kept or not one.has_reverse]
        self._by_jump = not all(seen.complete[self._places.index(one)] for one in alike)
        self._places = tuple(alike)
        return ""

    def _watched(self, kind: TrialKind, places: Sequence[ForcedPlace]) -> Observed:
        return self._rounds.observed(kind, Put([place.watched(kind) for place in places]))

    def _alike(self, kind: TrialKind, seen: Observed, places: Sequence[ForcedPlace]) -> list[ForcedPlace]:
        """The first, and copies that hold its value wherever they run."""
        return [
            place
            for number, place in enumerate(places)
            if place is self._places[0] or (seen.placed[number] and place.holds(kind, seen, number))
        ]

    def _put(self, kind: TrialKind) -> Put:
        if kind in (TrialKind.GOOD, TrialKind.BAD):
            return Put()
        if kind is TrialKind.REVERSE and not self._places[0].has_reverse:
            return Put(is_possible=False)
        if kind is TrialKind.REVERSE and self._by_jump and not self._reached_in_good():
            return Put(is_possible=False, is_reached=False)
        return Put([place.forced(kind, by_jump=self._by_jump) for place in self._places_of(kind)])

    def _places_of(self, kind: TrialKind) -> Places:
        """The places that a run of that kind forces, in the order of its sites."""
        is_in_good = kind in (TrialKind.GOOD, TrialKind.REVERSE)
        return tuple(place for place in self._places if place.has_reverse or not is_in_good)

    def _reached_in_good(self) -> bool:
        """A site that is forced by a jump counts no hits: one good run that is only watched tells."""
        if self._is_reached is None:
            put = Put([place.watched(TrialKind.GOOD) for place in self._places_of(TrialKind.GOOD)])
            seen = self._rounds.observed(TrialKind.GOOD, put, ONCE)
            self._is_reached = any(seen.hits) or not all(seen.placed)
        return self._is_reached

    def _order_changed(self, kind: TrialKind, seen: Observed) -> str:
        """Forcing may change how often a place is passed: then the n-th time is no longer the n-th."""
        if kind in (TrialKind.GOOD, TrialKind.BAD):
            return ""
        for number, place in enumerate(self._places_of(kind)):
            if not place.in_order:
                continue
            values, hits, beyond = len(place.bad), seen.hits[number], seen.beyond[number]
            if hits != values:
                how = f"{beyond:,} times more often" if beyond else f"{values - hits:,} times less often"
                return f"with forced values it runs {how}, so that their order no longer agrees"
        return ""


class NoOrderError(Exception):
    """Why there is none: a part of a sentence."""


def with_values(places: Sequence[ForcedPlace], look: Look) -> tuple[ForcedPlace, ...]:
    """The first place, and copies of it, with the values of all their calls in both runs: the n-th of one stands for
    the n-th of the other only where their order agrees. Copies without an order, or with the same values in both runs,
    are left out; for the first place NoOrderError says why.
    """
    good, bad = (_values(places, kind, look) for kind in (TrialKind.GOOD, TrialKind.BAD))
    assert good[0] is not None and bad[0] is not None
    if len(good[0]) != len(bad[0]):
        raise NoOrderError(
            f"its values change from call to call, and it runs {len(good[0]):,} times in the good run, "
            f"{len(bad[0]):,} times in the bad run"
        )
    first, *copies = (
        replace(place, good=of_good, bad=of_bad)
        for place, of_good, of_bad in zip(places, good, bad, strict=True)
        if of_good is not None and of_bad is not None
    )
    return first, *(one for one in copies if len(one.good) == len(one.bad) and one.good != one.bad)


def _values(places: Sequence[ForcedPlace], kind: TrialKind, look: Look) -> list[tuple[int, ...] | None]:
    """Of each place; None: a copy has no order."""
    found: list[tuple[int, ...] | None] | None = None
    for _ in range(_LOOKS):
        seen = look(kind, [place.watched(kind) for place in places], _LIMITS)
        now = [_seen_or_none(place, seen, number) for number, place in enumerate(places)]
        found = now if found is None else [one if one == other else None for one, other in zip(found, now, strict=True)]
        if found[0] is None:
            raise NoOrderError(f"its values change from call to call, in another order in every {kind.value} run")
    assert found is not None
    return found


def _seen_or_none(place: ForcedPlace, seen: Observed, site: int) -> tuple[int, ...] | None:
    try:
        return _seen(place, seen, site)
    except NoOrderError:
        if not site:
            raise
        return None


def _seen(place: ForcedPlace, seen: Observed, site: int) -> tuple[int, ...]:
    if not seen.placed[site]:
        raise NoOrderError(f"the instruction at {place.address:#x} cannot be observed: {seen.refused[site]}")
    records = seen.of(site)
    if not seen.complete[site] or len(records) > MOST_IN_ORDER:
        raise NoOrderError(f"its values change from call to call, and it runs more than {MOST_IN_ORDER:,} times")
    if len(records) != seen.hits[site]:
        raise NoOrderError("its values change from call to call, and not all of them could be recorded")
    if len(np.unique(records["thread"])) > 1:
        raise NoOrderError("its values change from call to call, and several threads run it")
    return place.values_in(records)
