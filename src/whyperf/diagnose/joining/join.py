"""The engines' claims become one ranking: docs/how-the-verdict-is-joined.md, in code.

Claims about the same thing are one suspect. Its score is the noisy-or of its engines' scores, each weighed by how far
the engine is trusted for this kind of trouble: the chance that at least one of them is right, were they independent.
So evidence that another engine's score holds already has no weight of its own, and of two engines that see the same
time in the same place the larger counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from whyperf.diagnose.joining.claims import Claim, Thing
from whyperf.diagnose.joining.confidence import HIGH, LOW, MEDIUM
from whyperf.diagnose.joining.pattern import how_it_grew, likeliest, together
from whyperf.diagnose.joining.shares import counted_once
from whyperf.diagnose.joining.trust import ENGINES, HAS_A_SAY
from whyperf.diagnose.verdict import Suspect

_CONFIDENCE = (LOW, MEDIUM, HIGH)
# A first suspect that its engine itself holds for less likely contradicts nobody.
WORTH_A_WORD = 0.2
_ASKED = {
    "excess": "where the time is",
    "values": "whose values changed",
    "relations": "which relation changed",
    "locks": "who holds the lock",
    "causes": "who should have acted",
    "contexts": "where latency appeared",
    "memory": "who holds memory",
}


@dataclass(frozen=True)
class Joined:
    suspects: tuple[Suspect, ...]  # best first
    disagreements: tuple[str, ...]  # sentences


def join(claims: Iterable[Claim], trust: Mapping[str, float]) -> Joined:
    """Neither the order of claims matters, nor who else might have spoken. `trust`: by engine, 0 to 1."""
    met = _Met(_by_thing(claims), trust)
    disputed, sentences = _disagreements(met)
    ranked = sorted(met.named, key=met.place)
    suspects = (
        _doubted(met.suspect(thing, rank)) if thing in disputed else met.suspect(thing, rank)
        for rank, thing in enumerate(ranked, 1)
    )
    return Joined(counted_once(suspects), sentences)


def _by_thing(claims: Iterable[Claim]) -> dict[Thing, dict[str, Claim]]:
    """Every engine's claim about every thing."""
    functions: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        functions[claim.thing.module, claim.thing.name].append(claim)
    together: dict[Thing, list[Claim]] = defaultdict(list)
    for same in functions.values():
        for thing, claim in zip(_things(same), same, strict=True):
            together[thing].append(claim)
    return {
        thing: {engine: _one([one for one in said if one.engine == engine]) for engine in {one.engine for one in said}}
        for thing, said in together.items()
    }


def _things(claims: Sequence[Claim]) -> list[Thing]:
    """Of claims about functions of one name. Who tells no files or parts apart means the only one, or the first."""
    files = {claim.thing.file for claim in claims} - {""}
    unsaid_file = files.pop() if len(files) == 1 else ""
    with_file = [replace(claim.thing, file=claim.thing.file or unsaid_file) for claim in claims]
    first: dict[str, tuple[int, str]] = {}
    for claim, thing in zip(claims, with_file, strict=True):
        if thing.part:
            first[thing.file] = min(first.get(thing.file, (claim.rank, thing.part)), (claim.rank, thing.part))
    return [thing if thing.part or thing.file not in first else replace(thing, part=first[thing.file][1])
            for thing in with_file]  # fmt: skip


def _one(claims: Sequence[Claim]) -> Claim:
    """What an engine says of a thing in several claims: the best of it, with all that any of them says."""
    told = min(claims, key=lambda one: (one.rank, -one.score, one.suspect.line, one.suspect.why))
    return replace(
        told,
        score=max(one.score for one in claims),
        counted_in=min(one.counted_in for one in claims),
        same_time_as=min(one.same_time_as for one in claims),
        effects=frozenset().union(*(one.effects for one in claims)),
    )


class _Met:
    """Claims by thing, and what they weigh."""

    def __init__(self, said: Mapping[Thing, Mapping[str, Claim]], trust: Mapping[str, float]) -> None:
        self.said, self._trust = said, trust

    @cached_property
    def named(self) -> list[Thing]:
        """Things that somebody names who counts."""
        return [thing for thing, said in self.said.items() if any(self.trust(one) > 0 for one in said.values())]

    @cached_property
    def by_engine(self) -> dict[str, list[Claim]]:
        found: dict[str, list[Claim]] = defaultdict(list)
        for said in self.said.values():
            for claim in said.values():
                found[claim.engine].append(claim)
        return found

    def trust(self, claim: Claim) -> float:
        """What is hidden from an engine is claimed in its stead."""
        return 0 if claim.counted_in else self._trust.get(claim.hidden_from or claim.engine, 0)

    def left(self, thing: Thing, engine: str) -> float:
        """The part of what an engine charges to a thing that no other thing answers for.

        That is what lies in things which the engine cannot see, and what another engine holds to be their effect.
        """
        others = [claim for other, said in sorted(self.said.items()) for claim in said.values() if other != thing]
        hidden = sum(claim.score for claim in others if claim.hidden_from == engine)
        left: float = max(0, 1 - hidden)
        for claim in others:
            if claim.engine != engine and _is_among(thing, claim.effects):
                left *= 1 - self.trust(claim) * claim.score
        return left

    def score(self, thing: Thing) -> float:
        witnesses: dict[str, float] = {}
        for engine, claim in self.said[thing].items():
            seen = claim.same_time_as or engine
            weighed = self.trust(claim) * claim.score * self.left(thing, engine)
            witnesses[seen] = max(witnesses.get(seen, 0), weighed)
        joined: float = 0
        for _, weighed in sorted(witnesses.items()):
            joined += weighed * (1 - joined)
        return min(1, joined)

    def told(self, thing: Thing) -> list[Claim]:
        """The claims about a thing, the most trusted first."""
        return sorted(self.said[thing].values(), key=lambda one: (-self.trust(one), ENGINES.index(one.engine)))

    def place(self, thing: Thing) -> tuple[float, int, int, Thing]:
        first = self.told(thing)[0]
        return -self.score(thing), first.rank, ENGINES.index(first.engine), thing

    def suspect(self, thing: Thing, rank: int) -> Suspect:
        """As the most trusted engine shows it, with what the others know of it. Its share is that of the most trusted
        one that measured all of it."""
        first, *others = self.told(thing)
        shown = first.suspect
        for other in others:
            shown = _completed(shown, other.suspect)
        share = next((one for one in (first, *others) if not one.share_is_of and one.suspect.share > 0), first)
        said = [*(one.preface for one in others), first.suspect.why, share.share_is_of, *(one.remark for one in others)]
        sure = [one.suspect.confidence for one in (first, *others) if self.trust(one) >= HAS_A_SAY]
        confidence = max([first.suspect.confidence, *sure], key=_CONFIDENCE.index)
        doubts = [one.suspect.doubt for one in (first, *others) if one.suspect.confidence == confidence]
        return replace(
            shown,
            rank=rank,
            score=self.score(thing),
            share=share.suspect.share * self.left(thing, share.engine),
            confidence=confidence,
            doubt=next(filter(None, doubts), "") if confidence != HIGH else "",
            pattern=likeliest(shown.pattern, how_it_grew(shown.evidence)),
            why=" ".join(filter(None, said)),
        )


def _completed(suspect: Suspect, other: Suspect) -> Suspect:
    at = suspect if suspect.line else other
    return replace(
        suspect,
        file=at.file or suspect.file,
        line=at.line,
        block=at.block,
        decided_by=at.decided_by,
        lines=suspect.lines or other.lines,
        change=suspect.change or other.change,
        path=suspect.path or other.path,
        process=suspect.process or other.process,
        thread=suspect.thread or other.thread,
        pattern=together(suspect.pattern, other.pattern),
        variables=suspect.variables or other.variables,
        evidence=(*suspect.evidence, *other.evidence),
    )


def _doubted(suspect: Suspect) -> Suspect:
    confidence = min(suspect.confidence, MEDIUM, key=_CONFIDENCE.index)
    return replace(
        suspect, confidence=confidence, doubt=suspect.doubt or "the engines disagree about the first suspect"
    )


def _disagreements(met: _Met) -> tuple[set[Thing], tuple[str, ...]]:
    """Things in dispute, and a sentence for every engine with a say whose first is not the leader's."""
    firsts = [(min(claims, key=lambda one: (one.rank, one.thing))) for claims in met.by_engine.values()]
    heard = [one for one in firsts if met.trust(one) >= HAS_A_SAY and met.trust(one) * one.score >= WORTH_A_WORD]
    heard.sort(key=lambda one: (-met.trust(one), ENGINES.index(one.engine)))
    if not heard:
        return set(), ()
    leader, *others = heard
    against = [one for one in others if not _agree(leader, one)]
    sentences = tuple(
        f"The engines disagree: {_ASKED[leader.engine]} ({leader.engine}) leads to {_called(leader)}, "
        f"{_ASKED[one.engine]} ({one.engine}) to {_called(one)}."
        for one in against
    )
    disputed = {one.thing for one in (leader, *against)} if against else set()
    return {thing for thing, said in met.said.items() if {one.thing for one in said.values()} & disputed}, sentences


def _agree(one: Claim, other: Claim) -> bool:
    """On the same function, or one on what the other holds to be its effect."""
    same = _is_among(one.thing, {other.thing})
    return same or _is_among(one.thing, other.effects) or _is_among(other.thing, one.effects)


def _is_among(thing: Thing, things: Collection[Thing]) -> bool:
    return any((one.module, one.name) == (thing.module, thing.name) for one in things)


def _called(claim: Claim) -> str:
    return f"{claim.suspect.function} in {claim.suspect.module}"
