"""A verdict that somebody else leads: who decides comes before who pays for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from whyperf.diagnose.joining.shares import answering_for, counted_once
from whyperf.diagnose.verdict import Evidence, Suspect, Verdict
from whyperf.engines.finding import Detail, HotLine
from whyperf.engines.quantities import percent
from whyperf.recording.names.identity import without_version

_TAKEN_ALONE = "Taken alone: "


class Deciding(Protocol):
    """A place of the source."""

    @property
    def function(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


@dataclass(frozen=True)
class Decider:
    """Who decides, and what is said of it."""

    place: Deciding
    why: str
    engine: str
    doubt: str = ""
    lines: tuple[HotLine, ...] = ()


def suspect_at(verdict: Verdict, place: Deciding) -> Suspect | None:
    return next((one for one in verdict.suspects if is_at(one, place)), None)


def is_at(suspect: Suspect, place: Deciding) -> bool:
    here, there = ((without_version(one.module), one.function) for one in (suspect, place))
    return here == there


def leading(verdict: Verdict, decider: Decider, payer: Suspect) -> Suspect:
    """The suspect that is there already, whose old sentence becomes evidence; else a new one, that answers for what the
    payer was charged with."""
    known = suspect_at(verdict, decider.place)
    suspect = _in_place_of(payer, decider) if known is None else _moved(known, decider)
    # First: figures that a suspect shows are those of its first evidence.
    evidence = Evidence(decider.engine, 1, suspect.score, Detail(), decider.why)
    return replace(
        suspect, confidence="medium", doubt=decider.doubt, why=decider.why, evidence=(evidence, *suspect.evidence)
    )


def led_by(verdict: Verdict, first: Suspect, left: Mapping[int, float]) -> Verdict:
    """With this suspect first. `left`: by rank, what those who pay for what it decides still answer for."""
    others = [
        _paying(one, first, left[one.rank]) if one.rank in left else one
        for one in verdict.suspects
        if one.rank != first.rank
    ]
    return ranked(verdict, [first, *others])


def ranked(verdict: Verdict, suspects: Sequence[Suspect]) -> Verdict:
    """In this order."""
    told = (
        replace(counted, why=_with_rest(one, counted.share)) if counted.share < one.share else counted
        for one, counted in zip(suspects, counted_once(suspects), strict=True)
    )
    return replace(verdict, suspects=tuple(replace(one, rank=rank) for rank, one in enumerate(told, 1)))


def _in_place_of(payer: Suspect, decider: Decider) -> Suspect:
    place = decider.place
    return replace(
        payer,
        rank=0,
        function=place.function,
        module=place.module,
        file=place.file,
        line=place.line,
        block=0,
        decided_by=0,
        path=payer.path[: payer.path.index(place.function) + 1] if place.function in payer.path else (),
        variables=(),
        evidence=(),
        lines=decider.lines,
        change=None,
        commits=(),
        origin=None,
        proofs=(),
    )


def _moved(known: Suspect, decider: Decider) -> Suspect:
    """To the line that decides, where that is known."""
    place = decider.place
    evidence = (*(replace(one, why=known.why) for one in known.evidence[:1]), *known.evidence[1:])
    known = replace(known, evidence=evidence, lines=decider.lines or known.lines)
    if not place.line or (known.file, known.line) == (place.file, place.line):
        return known
    return replace(known, file=place.file, line=place.line, block=0, decided_by=0, lines=decider.lines)


def _paying(payer: Suspect, decides: Suspect, left: float) -> Suspect:
    """Shares are counted once: it answers only for what is left."""
    said = f"{_alone(payer)} It pays for what {decides.function} decides."
    return replace(answering_for(payer, left), score=payer.score if left else 0.0, why=said)


def _with_rest(suspect: Suspect, left: float) -> str:
    if suspect.why.startswith(_TAKEN_ALONE):
        return suspect.why
    but = percent(left)
    rest = {"0%": "all", "0.0%": "nearly all"}.get(but, f"all but {but}")
    return f"{_alone(suspect)} Suspects before it answer for {rest} of the excess."


def _alone(suspect: Suspect) -> str:
    """What is said of a suspect that does not answer any more for all that it was charged with."""
    return suspect.why if suspect.why.startswith(_TAKEN_ALONE) else f"{_TAKEN_ALONE}{suspect.why}"
