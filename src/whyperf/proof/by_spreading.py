"""A trial by spreading: where many values become few, the bad run keeps them apart, and the good one makes them few.

There is no value to take from the good run: a hash makes another number of every key. But if the same keys are given
well spread numbers, the program does the same work, and what the few numbers cost is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.collect.observation.sites import ObservedSite
from whyperf.diagnose.origin import Proof
from whyperf.proof.guards import always_crashes
from whyperf.proof.rounds import NotPutError, ProofRounds, ProofSide, Put, Trying, UsualRuns, not_testable, proof_of
from whyperf.proof.screening import Screened, Screening
from whyperf.proof.sentences import ProofClaim, crashes_anyway, sentence_of, was_not_spread
from whyperf.proof.trial import TrialKind, TrialRun

_MOST_TRIED = 4  # places
Sites = tuple[ObservedSite, ...]


@dataclass(frozen=True)
class SpreadPlace:
    claim: ProofClaim
    spread: Sites
    own: Sites
    """With the values as they are, written back."""
    gathered: tuple[Sites, ...]
    """Ways to make the good run's values as few as the bad run's are."""


def prove_spread(
    good: ProofSide,
    bad: ProofSide,
    places: Sequence[SpreadPlace],
    trying: Trying = Trying(),  # noqa: B008 (frozen)
    *,
    usual: UsualRuns | None = None,
) -> tuple[int, Proof] | None:
    """Which place, and its proof: single runs tell which one is worth a whole trial, and then which way to make values
    few. Else why the last place was not; None where there is no place, or no excess.

    WhyperfError where the programs cannot be run at all.
    """
    return _SpreadTrial(good, bad, places, trying, usual).proof()


class _SpreadTrial:
    def __init__(
        self,
        good: ProofSide,
        bad: ProofSide,
        places: Sequence[SpreadPlace],
        trying: Trying,
        usual: UsualRuns | None,
    ) -> None:
        self._places, self._trying = places[:_MOST_TRIED], trying
        self._puts: dict[TrialKind, Put] = {}
        self._rounds = ProofRounds(good, bad, trying, lambda kind: self._puts.get(kind, Put()), usual=usual)
        self._screening = Screening(self._rounds)

    def proof(self) -> tuple[int, Proof] | None:
        if not self._places or not self._screening.has_excess():
            return None
        if crashes := always_crashes(self._rounds.runs):
            return 0, not_testable(self._places[0].claim, self._trying.measure, f"{crashes_anyway(crashes)}.")
        chosen, why_not = self._chosen()
        place = self._places[chosen]
        if why_not:
            return chosen, not_testable(place.claim, self._trying.measure, was_not_spread(place.claim, why_not))
        self._puts[TrialKind.SHAM] = Put(place.own)
        self._choose_reverse(place.gathered)
        try:
            judgement = self._rounds.judged(is_code=True)
        except NotPutError as error:
            return chosen, not_testable(place.claim, self._trying.measure, was_not_spread(place.claim, _part(error)))
        sentence = sentence_of(place.claim, judgement, self._trying.measure)
        return chosen, proof_of(place.claim, judgement, self._rounds.done, self._trying.measure, sentence)

    def _chosen(self) -> tuple[int, str]:
        """A place, and why it cannot be tried; empty: it removes most of the excess in one run."""
        why_not = ""
        for number, place in enumerate(self._places):
            if self._rounds.is_time_up:
                return number, "there is no time left"
            put = Put(place.spread)
            try:
                seen = self._screening.forced(put)
            except NotPutError as error:
                why_not = why_not or _part(error)
                continue
            if seen.tells:
                self._puts[TrialKind.FORCED] = put
                self._rounds.runs[TrialKind.FORCED].append(seen.run)
                return number, ""
            why_not = _why_not(seen)
        return len(self._places) - 1, why_not

    def _choose_reverse(self, ways: Sequence[Sites]) -> None:
        """The first that makes most of the excess in one run; the first of all where none does."""
        runs: list[tuple[Put, TrialRun]] = []
        for way in ways:
            put = Put(way)
            seen = self._screening.reverse(put)
            runs.append((put, seen.run))
            if seen.tells:
                runs = [runs[-1]]
                break
        put, *first = runs[0] if runs else (Put(is_possible=False),)
        self._puts[TrialKind.REVERSE] = put
        self._rounds.runs[TrialKind.REVERSE].extend(first)


def _why_not(seen: Screened) -> str:
    if not seen.is_sound:
        return "with spread values, the program ends otherwise or writes something else"
    return f"with spread values, {max(0.0, seen.share):.0%} of the excess is gone in one run"


def _part(error: NotPutError) -> str:
    """Of a sentence."""
    return str(error).removesuffix(".")
