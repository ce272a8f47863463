"""Which hops of a chain are forced: from where the value was made towards where time is paid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whyperf.diagnose.origin import ChainEnd, HopKind, Proof, ProofFinding, ProofMeans
from whyperf.diagnose.verdict import Suspect
from whyperf.errors import WhyperfError
from whyperf.investigation.so_far import TriedFunctions
from whyperf.investigation.spreading import candidates, gathered_for, own_at, spread_at
from whyperf.investigation.trials import Investigated
from whyperf.origin.forcible import ForcibleSite
from whyperf.origin.search import FoundOrigin
from whyperf.proof.by_function import prove_by_functions
from whyperf.proof.by_spreading import SpreadPlace, prove_spread
from whyperf.proof.by_value import ValueTrial
from whyperf.proof.judging import NOTHING_GONE
from whyperf.proof.places import ForcedPlace, Places
from whyperf.proof.rounds import SharedFileError, Trying, not_testable
from whyperf.proof.sentences import NOT_IN_A_REGISTER, ProofClaim, was_not_forced

_MOST_TRIALS = 3
_ROUNDS_BEFORE = 1  # of a trial that paused
_CONSTANT = 0.95  # of what a place made is one value
_MADE = (HopKind.CONSTANT, HopKind.CHOSEN, HopKind.COMPUTED)
"""With these as its last hop, a chain that leads outside ends where the program makes a value of the input."""


_NO_TRIALS_LEFT = f"{_MOST_TRIALS} other trials of the same chain came first"
_NO_TIME_LEFT = "there is no time left"
_NO_RUNS_LEFT = "no more runs are allowed"
_FORBIDDEN = "other processes use the program's files"
_SAME_INPUT = "it only passes on a value that was forced elsewhere"


@dataclass(frozen=True)
class Tried:
    hop: int
    proof: Proof
    is_run: bool = True
    """False: it was not tried, and the proof says why."""


@dataclass(frozen=True)
class ChainProof:
    found: FoundOrigin
    investigated: Investigated

    def tried(self) -> list[Tried]:
        """In the order in which hops were tried; none after the first that proves the chain and leaves little of the
        excess. Where none is proven or supported, the others follow with the reason why they were not tried."""
        done = list(self._by_spreading())
        if done and done[-1].proof.is_settled:
            return done
        not_tried: dict[int, str] = {}
        begun, is_time_left = list[_Begun](), True
        every = _candidates(self.found)
        for one in every:
            number, _, places = one
            if self.investigated.so_far.always_crashes:
                return done  # one sentence about it is enough
            known = self.investigated.so_far.proofs.get(frozenset(places))
            if known is not None:
                done.append(Tried(number, known))
            elif why_not := self._why_not_now(number, done, begun, is_time_left=is_time_left):
                not_tried[number] = why_not
            else:
                begun.append(self._begun(one))
                done += self._went_on(begun[-1], not_tried, pauses=one is not every[-1])
                begun[-1].took_s = time.monotonic() - begun[-1].began
                is_time_left = self.investigated.bounds.left_s >= begun[-1].took_s
            if done and _is_whole(done[-1].proof):
                return done
        paused = (one for one in begun if one.number not in {*not_tried, *(each.hop for each in done)})
        for waiting in sorted(paused, key=lambda one: one.trial.removed_in_part, reverse=True):
            if self.investigated.so_far.always_crashes:
                break
            done += self._went_on_again(waiting, not_tried)
            if done and _is_whole(done[-1].proof):
                return done
        if self.investigated.so_far.always_crashes or any(one.proof.is_settled for one in done):
            return done
        return [*done, *self._others(done, not_tried)]

    def _why_not_now(self, number: int, done: Sequence[Tried], begun: Sequence[_Begun], *, is_time_left: bool) -> str:
        """Why no trial of a hop begins; empty: one does."""
        hops = (*(one.hop for one in done), *(one.number for one in begun))
        if self.investigated.so_far.forbidden:
            return _FORBIDDEN
        if not is_time_left:
            return _NO_TIME_LEFT
        if len(begun) == _MOST_TRIALS:
            return _NO_TRIALS_LEFT
        if hands_on_input(self.found, number) and any(hands_on_input(self.found, hop) for hop in hops):
            return _SAME_INPUT
        return "" if self.investigated.so_far.has_room_for_a_trial() else _NO_RUNS_LEFT

    def _went_on_again(self, waiting: _Begun, not_tried: dict[int, str]) -> Iterator[Tried]:
        """What a trial has shown that paused. The first one of all goes on until it tells, others if there is room."""
        so_far = self.investigated.so_far
        why_not = ""
        if so_far.forbidden:
            why_not = _FORBIDDEN
        elif not waiting.is_first and self.investigated.bounds.left_s < waiting.took_s:
            why_not = _NO_TIME_LEFT
        elif not waiting.is_first and not so_far.can_go_on(_ROUNDS_BEFORE):
            why_not = _NO_RUNS_LEFT
        if why_not:
            removed = waiting.trial.removed_in_part
            why = f"forcing `{waiting.claim.what}` removes {removed:.0%} of the excess in one run, and {why_not}."
            yield Tried(waiting.number, not_testable(waiting.claim, self.investigated.measure, why))
            return
        most = Trying.most_runs if waiting.is_first else so_far.rounds_after(_ROUNDS_BEFORE)
        yield from self._went_on(waiting, not_tried, most_runs=most)

    def _went_on(
        self, begun: _Begun, not_tried: dict[int, str], *, pauses: bool = False, most_runs: int | None = None
    ) -> Iterator[Tried]:
        """What a trial has shown; nothing if it pauses, since it removes only a part of the excess, or if nothing may
        be forced."""
        so_far = self.investigated.so_far
        try:
            proof = begun.trial.proof(pauses=pauses, most_runs=most_runs)
        except SharedFileError as error:
            so_far.forbidden, not_tried[begun.number] = error.sentence, _FORBIDDEN
            return
        except WhyperfError as error:  # what other trials have shown stays
            proof = not_testable(begun.claim, self.investigated.measure, error.sentence)
        if proof is not None:
            so_far.proofs[begun.places] = proof
            yield Tried(begun.number, proof)

    def _by_spreading(self) -> Iterator[Tried]:
        """Where many values become few: the good run has none that would be right for the bad one's input."""
        places = [one for one in candidates(self.found) if not hands_on_input(self.found, one[0])]
        so_far = self.investigated.so_far
        if not places or so_far.always_crashes or so_far.forbidden or not so_far.has_room_for_a_trial():
            return
        wanted = [
            SpreadPlace(
                replace(self._claim(number), means=ProofMeans.SPREAD),
                spread_at(site),
                own_at(site),
                tuple(gathered_for(self.found, site)),
            )
            for number, site in places
        ]
        trying = self.investigated.trying(f"spreading {wanted[0].claim.what}")
        try:
            proven = prove_spread(*self.investigated.sides, wanted, trying, usual=self.investigated.so_far.usual)
        except SharedFileError as error:
            self.investigated.so_far.forbidden = error.sentence
            return
        except WhyperfError as error:  # what other trials have shown stays
            proven = 0, not_testable(wanted[0].claim, self.investigated.measure, error.sentence)
        if proven is not None:
            yield Tried(places[proven[0]][0], proven[1])

    def _others(self, done: Sequence[Tried], not_tried: Mapping[int, str]) -> Iterator[Tried]:
        """Hops without a trial, and why."""
        tried = {one.hop for one in done}
        for number in range(len(self.found.origin.hops)):
            if number not in tried:
                claim, why = self._claim(number), not_tried.get(number) or _why_not(self.found, number)
                yield Tried(
                    number, not_testable(claim, self.investigated.measure, was_not_forced(claim, why)), is_run=False
                )

    def _claim(self, number: int) -> ProofClaim:
        hops = self.found.origin.hops
        hop, is_input = hops[number], hands_on_input(self.found, number)
        return ProofClaim(
            hop.function,
            hop.module,
            hop.file,
            hop.line,
            hop.what,
            hop.good,
            hop.bad,
            from_outside=is_input,
            is_made=ends_with_made(self.found),
        )

    def _begun(self, candidate: _Candidate) -> _Begun:
        number, site, places = candidate
        claim = replace(self._claim(number), in_order=places[0].in_order)
        if site.texts != (claim.good, claim.bad) and site.texts[0] != site.texts[1]:  # another value of the same line
            what = site.name or claim.what
            claim = replace(claim, what=what, good=site.texts[0], bad=site.texts[1], is_part=not site.name)
        trying, so_far = self.investigated.trying(f"forcing {claim.what}"), self.investigated.so_far
        trial = ValueTrial(*self.investigated.sides, places, claim, trying, usual=so_far.usual)
        return _Begun(number, frozenset(places), claim, trial, so_far.is_first_trial, time.monotonic())


@dataclass
class _Begun:
    number: int
    places: frozenset[ForcedPlace]
    claim: ProofClaim
    trial: ValueTrial
    is_first: bool
    """Of the whole investigation."""
    began: float
    took_s: float = 0.0
    """Until it ended, or paused."""


def tried_functions(suspects: Sequence[Suspect], investigated: Investigated) -> TriedFunctions:
    """Of two builds: what the good one's functions do in the bad program. No proofs where there is one build."""
    trying = investigated.trying_uncounted("putting functions of the good build into the bad one")
    good, bad = investigated.sides
    try:
        return TriedFunctions(prove_by_functions(good, bad, suspects, trying))
    except SharedFileError as error:
        return TriedFunctions(forbidden=error.sentence)


_Candidate = tuple[int, ForcibleSite, Places]


def _candidates(found: FoundOrigin) -> list[_Candidate]:
    """The hop where good turns into bad first, then those nearer to where time is paid, then those behind it. Hops with
    one value come before those whose values change from call to call, and what only hands on the input comes last."""
    last = len(found.origin.hops) - 1
    turn = last if found.origin.turn is None else found.origin.turn
    order = (*range(turn, -1, -1), *range(turn + 1, last + 1))
    every = [
        _reached_by_both(found, number, _first(_with_one_value, found, number)) or _first(_in_order, found, number)
        for number in order
    ]
    return sorted(filter(None, every), key=lambda one: (hands_on_input(found, one[0]), one[2][0].in_order))


def _is_whole(proof: Proof) -> bool:
    """Whether it is proven, and no more may be left of the excess than counts as nothing. Else another hop may explain
    more: one of several callers passes the value, or the reverse run does not come to the place."""
    if proof.finding is not ProofFinding.PROVEN:
        return False
    return proof.removed is None or proof.removed.high >= 1 - NOTHING_GONE


def hands_on_input(found: FoundOrigin, number: int) -> bool:
    """Handed on as it came from outside: it is the input that differs, not what was made of it."""
    hop, last = found.origin.hops[number], found.origin.hops[-1]
    return found.origin.end is ChainEnd.OUTSIDE and (hop.good, hop.bad) == (last.good, last.bad)


def ends_with_made(found: FoundOrigin) -> bool:
    """Whether the last value is made by the program, if of nothing but the input."""
    return found.origin.hops[-1].kind in _MADE


def _reached_by_both(found: FoundOrigin, number: int, first: _Candidate | None) -> _Candidate | None:
    """Where good runs do not come to the place, forcing the bad value there shows nothing: then it is forced where the
    same value is handed on, if both runs come there."""
    if first is None or first[1].is_reached_in_good:
        return first
    site = first[1]
    for nearer in range(number - 1, -1, -1):
        of_hop = [one for one in found.forcible[nearer] if (one.good, one.bad) == (site.good, site.bad)]
        if not of_hop:
            break  # from here on it is something else
        for one in of_hop:
            other = _with_one_value(one) if one.is_reached_in_good else None
            if other is not None and other[0].has_reverse:
                return number, site, other
    return first


def _first(place_at: Callable[[ForcibleSite], Places | None], found: FoundOrigin, number: int) -> _Candidate | None:
    sites = found.forcible[number]
    return next(((number, site, places) for site in sites if (places := place_at(site)) is not None), None)


def _with_one_value(site: ForcibleSite) -> Places | None:
    """None where no one value stands for what the place makes."""
    good, bad = (_usual(values) for values in (site.good, site.bad))
    if site.is_address or good is None or bad is None or good == bad:
        return None
    return _places(site, ForcedPlace(*_where(site), (good,), (bad,)))


def _in_order(site: ForcibleSite) -> Places | None:
    """None where the n-th value of one run cannot stand for the n-th of the other."""
    if site.is_address or not site.hits_agree or site.in_good is None:
        return None
    return _places(site, ForcedPlace(*_where(site), (), (), in_order=True))


def _where(site: ForcibleSite) -> tuple[Path, int, bool, int, int]:
    return site.module, site.address, site.after, site.register, site.size


def _places(site: ForcibleSite, own: ForcedPlace) -> Places:
    """The place itself first, then its copies: what one of them makes, all make."""
    copies = (
        replace(own, module=one.module, address=one.address, register=one.register, **_in_good(one.in_good))
        for one in site.copies
        if one.in_good is not None or not own.in_order
    )
    return replace(own, **_in_good(site.in_good)), *copies


def _in_good(in_good: tuple[Path, int] | None) -> dict[str, Any]:
    return {"in_good": in_good, "has_reverse": in_good is not None}


def _usual(values: tuple[tuple[int, int], ...]) -> int | None:
    total = sum(count for _, count in values)
    return values[0][0] if total and values[0][1] >= _CONSTANT * total else None


def _why_not(found: FoundOrigin, number: int) -> str:
    """Why a hop has no place where its value could be forced."""
    sites = found.forcible[number]
    if found.counts[number]:
        return "only how often this code runs differs, so there is no value to force"
    if any(site.is_address for site in sites):
        return "it is an address, which means something else in every run"
    if not found.origin.hops[number].differs:
        return "good and bad runs are not known to differ there"
    if not sites:
        return NOT_IN_A_REGISTER
    if any(_usual(site.good) is not None and _usual(site.good) == _usual(site.bad) for site in sites):
        return "it has nearly always the same value in both runs"
    agree = any(site.hits_agree for site in sites)
    why = "the good build has other code there" if agree else "good and bad runs do not pass it equally often"
    return f"its values change from call to call, and {why}"
