"""A trial by value: what the good run has is forced into the bad one, at the instructions that define it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.collect.observation import Forced, Observed, Site
from whyperf.diagnose.origin import Proof
from whyperf.proof.rounds import Put, Rounds, Side, Trying, not_testable, proof_of
from whyperf.proof.sentences import Claim, sentence_of
from whyperf.proof.trial import Kind

__all__ = ["ForcedPlace", "Side", "Trying", "prove_value"]

_NEARLY_ALWAYS = 0.9
_ADDRESSES = range(1 << 36, 1 << 48)


@dataclass(frozen=True)
class ForcedPlace:
    """An instruction that defines the value, and what it is to be."""

    module: Path
    address: int
    after: bool
    register: int
    size: int
    good: tuple[int, ...]
    """One, or the n-th for the n-th time."""
    bad: tuple[int, ...]
    in_good: tuple[Path, int] | None = None
    """The same instruction in the good run's build; None: it is the same file."""


def prove_value(
    good: Side,
    bad: Side,
    places: Sequence[ForcedPlace],
    claim: Claim,
    trying: Trying = Trying(),  # noqa: B008 (frozen)
) -> Proof:
    """WhyperfError where the programs cannot be run or observed at all."""
    return _ValueTrial(good, bad, places, trying).proof(claim)


class _ValueTrial:
    def __init__(self, good: Side, bad: Side, places: Sequence[ForcedPlace], trying: Trying) -> None:
        self._places, self._trying = tuple(places), trying
        self._rounds = Rounds(good, bad, trying, self._put)
        self._by_jump = False

    def proof(self, claim: Claim) -> Proof:
        why_not = _why_not(self._places) or self._look()
        if why_not:
            return not_testable(claim, self._trying.measure, f"{why_not}.")
        judgement = self._rounds.judged(from_outside=claim.from_outside)
        return proof_of(claim, judgement, self._rounds.done, self._trying.measure, sentence_of(claim, judgement))

    def _look(self) -> str:
        """At one bad run: why nothing can be forced there, or an empty text."""
        sites = [
            Site(place.module, place.address, after=place.after, register=place.register) for place in self._places
        ]
        seen = self._rounds.observed(Kind.BAD, Put(sites))
        self._by_jump = not all(seen.complete)
        for number, place in enumerate(self._places):
            if not seen.placed[number]:
                return f"the instruction at {place.address:#x} cannot be observed: {seen.refused[number]}"
        if not any(seen.hits):
            return "the instruction that defines it does not run in the bad run"
        if not all(_holds(seen, number, place) for number, place in enumerate(self._places)):
            return "the instruction that defines it holds other values in this bad run than were seen before"
        return ""

    def _put(self, kind: Kind) -> Put:
        if kind in (Kind.GOOD, Kind.BAD):
            return Put()
        return Put([self._site(place, kind) for place in self._places])

    def _site(self, place: ForcedPlace, kind: Kind) -> Site:
        values = {Kind.FORCED: place.good, Kind.REVERSE: place.bad}.get(kind)
        forced = Forced(place.register, place.size, values, by_jump=self._by_jump)
        module, address = place.module, place.address
        if kind is Kind.REVERSE and place.in_good is not None:
            module, address = place.in_good
        return Site(module, address, after=place.after, forced=forced)


def _why_not(places: Sequence[ForcedPlace]) -> str:
    if not places:
        return "no instruction defines the value in a register"
    if any(place.good == place.bad for place in places):
        return "the value is the same in both runs"
    if any(value in _ADDRESSES for place in places for value in (*place.good, *place.bad)):
        return "it is an address, which means something else in every run"
    return ""


def _holds(seen: Observed, site: int, place: ForcedPlace) -> bool:
    """Whether the place has the bad values, nearly always."""
    records = seen.of(site)
    if not len(records):
        return True
    values = records["after"] if place.after else records["registers"][:, place.register]
    mask = np.uint64((1 << 8 * place.size) - 1)
    expected = np.array([value & int(mask) for value in place.bad], np.uint64)
    nth = np.minimum(records["hit"], len(expected) - 1).astype(np.int64)
    return bool(((values & mask) == expected[nth]).mean() >= _NEARLY_ALWAYS)
