"""A trial by spreading: where many values become few, the bad run keeps them apart, and the good one makes them few.

There is no value to take from the good run: a hash makes another number of every key. But if the same keys are given
well spread numbers, the program does the same work, and what the few numbers cost is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.collect.observation.sites import ObservedSite
from whyperf.diagnose.origin import Proof
from whyperf.proof.guards import FIRST_LOOK, output_checked, same_output
from whyperf.proof.rounds import NotPutError, ProofRounds, ProofSide, Put, Trying, UsualRuns, not_testable, proof_of
from whyperf.proof.sentences import ProofClaim, sentence_of, was_not_spread
from whyperf.proof.trial import RunEnding, TrialKind, TrialRun, excess, middle

_MOST = 0.5  # of the excess
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

    def proof(self) -> tuple[int, Proof] | None:
        if not self._places or not self._has_excess():
            return None
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
        sentence = sentence_of(place.claim, judgement)
        return chosen, proof_of(place.claim, judgement, self._rounds.done, self._trying.measure, sentence)

    def _has_excess(self) -> bool:
        for kind in (TrialKind.GOOD, TrialKind.BAD):
            while len(self._rounds.runs[kind]) < FIRST_LOOK:
                self._rounds.runs[kind].append(self._rounds.run(kind, Put()))
        return excess(self._rounds.runs) > 0

    def _chosen(self) -> tuple[int, str]:
        """A place, and why it cannot be tried; empty: it removes most of the excess in one run."""
        why_not = ""
        for number, place in enumerate(self._places):
            if self._rounds.is_time_up:
                return number, "there is no time left"
            put = Put(place.spread)
            try:
                run = self._rounds.run(TrialKind.FORCED, put)
            except NotPutError as error:
                why_not = why_not or _part(error)
                continue
            why_not = self._why_not(run)
            if not why_not:
                self._puts[TrialKind.FORCED] = put
                self._rounds.runs[TrialKind.FORCED].append(run)
                return number, ""
        return len(self._places) - 1, why_not

    def _why_not(self, run: TrialRun) -> str:
        if not self._is_sound(run, TrialKind.BAD):
            return "with spread values, the program ends otherwise or writes something else"
        removed = (middle(self._rounds.runs, TrialKind.BAD) - run.amount) / excess(self._rounds.runs)
        return (
            "" if removed > _MOST else f"with spread values, {max(0.0, removed):.0%} of the excess is gone in one run"
        )

    def _choose_reverse(self, ways: Sequence[Sites]) -> None:
        """The first that makes most of the excess in one run; the first of all where none does."""
        runs: list[tuple[Put, TrialRun]] = []
        for way in ways:
            put = Put(way)
            run = self._rounds.run(TrialKind.REVERSE, put)
            made = (run.amount - middle(self._rounds.runs, TrialKind.GOOD)) / excess(self._rounds.runs)
            runs.append((put, run))
            if self._is_sound(run, TrialKind.GOOD) and made > _MOST:
                runs = [runs[-1]]
                break
        put, *first = runs[0] if runs else (Put(is_possible=False),)
        self._puts[TrialKind.REVERSE] = put
        self._rounds.runs[TrialKind.REVERSE].extend(first)

    def _is_sound(self, run: TrialRun, as_kind: TrialKind) -> bool:
        usual = self._rounds.runs[as_kind]
        ends_alike = run.ending is RunEnding.EXITED and run.status == usual[0].status
        return ends_alike and same_output([run], usual, output_checked(usual))


def _part(error: NotPutError) -> str:
    """Of a sentence."""
    return str(error).removesuffix(".")
