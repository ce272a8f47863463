"""Which hops of a chain are forced: from where the value was made towards where time is paid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from whyperf.diagnose.origin import End, Finding, Proof
from whyperf.diagnose.verdict import Suspect
from whyperf.errors import WhyperfError
from whyperf.investigation.subject import Bounds, Say, Subject
from whyperf.origin.forcible import ForcibleSite
from whyperf.origin.search import Found
from whyperf.proof.by_function import prove_by_functions
from whyperf.proof.by_value import ForcedPlace, prove_value
from whyperf.proof.rounds import Side, Trying, not_testable
from whyperf.proof.sentences import Claim
from whyperf.proof.trial import Kind

_MOST_TRIALS = 3
_CONSTANT = 0.95  # of what a place made is one value
SETTLED = (Finding.PROVEN, Finding.SUPPORTED)


@dataclass(frozen=True)
class Tried:
    hop: int
    proof: Proof


@dataclass(frozen=True)
class ChainProof:
    found: Found
    subject: Subject
    measure: str
    bounds: Bounds
    say: Say

    def tried(self) -> list[Tried]:
        """In the order in which hops were tried; none after the first that proves the chain."""
        done: list[Tried] = []
        for number, place in _candidates(self.found):
            if len(done) == _MOST_TRIALS:
                break
            began = time.monotonic()
            done.append(Tried(number, self._trial(number, place)))
            now = time.monotonic()
            if done[-1].proof.finding in SETTLED or self.bounds.ends - now < now - began:
                break
        return done

    def _trial(self, number: int, place: ForcedPlace) -> Proof:
        hops, subject = self.found.origin.hops, self.subject
        hop, last = hops[number], hops[-1]
        # Handed on as it came from outside: it is the input that differs, not what was made of it.
        is_input = self.found.origin.end is End.OUTSIDE and (hop.good, hop.bad) == (last.good, last.bad)
        claim = Claim(hop.function, hop.module, hop.file, hop.line, hop.what, hop.good, hop.bad, from_outside=is_input)
        trying = _trying(subject, self.measure, self.bounds, partial(_told, self.say, f"forcing {hop.what}"))
        try:
            return prove_value(*_sides(subject), [place], claim, trying)
        except WhyperfError as error:  # what other trials have shown stays
            return not_testable(claim, self.measure, error.sentence)


def tried_functions(
    suspects: Sequence[Suspect], subject: Subject, measure: str, bounds: Bounds, say: Say
) -> tuple[Proof, ...]:
    """Of two builds: what the good one's functions do in the bad program. Empty where there is one build."""
    trying = _trying(
        subject, measure, bounds, partial(_told, say, "putting functions of the good build into the bad one")
    )
    return prove_by_functions(*_sides(subject), suspects, trying)


def _sides(subject: Subject) -> tuple[Side, Side]:
    of_good, of_bad = subject.lifecycles
    return Side(subject.good, of_good, subject.environment), Side(subject.bad, of_bad, subject.environment)


def _trying(subject: Subject, measure: str, bounds: Bounds, told: Callable[[Kind, int], None]) -> Trying:
    left = max(0.0, bounds.ends - time.monotonic())
    return Trying(measure, subject.output_files, budget_s=left, on_run=told)


def _told(say: Say, what: str, kind: Kind, run: int) -> None:
    say(f"{what}: {kind.value} run {run + 1}")


def _candidates(found: Found) -> Iterator[tuple[int, ForcedPlace]]:
    """The hop where good turns into bad first, then those nearer to where time is paid, then those behind it."""
    turn, last = found.origin.turn, len(found.origin.hops) - 1
    for number in (*range(turn, -1, -1), *range(turn + 1, last + 1)):
        place = next((place for site in found.forcible[number] if (place := _place(site)) is not None), None)
        if place is not None:
            yield number, place


def _place(site: ForcibleSite) -> ForcedPlace | None:
    """None where no one value stands for what the place makes."""
    good, bad = (_usual(values) for values in (site.good, site.bad))
    if site.is_address or good is None or bad is None or good == bad:
        return None
    return ForcedPlace(site.module, site.address, site.after, site.register, site.size, (good,), (bad,))


def _usual(values: tuple[tuple[int, int], ...]) -> int | None:
    total = sum(count for _, count in values)
    return values[0][0] if total and values[0][1] >= _CONSTANT * total else None
