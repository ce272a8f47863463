"""What came of one case: which candidates were named, where the true one stands, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from bench.cases.ranks import same
from bench.relations.case import Lines

_NEAR = 2  # lines between a statement and where the compiler says that it is


@dataclass(frozen=True)
class Named:
    """A place that a candidate names."""

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Candidate:
    decision: Named
    cause: Named | None  # the line that the decision's change comes from, where data flow names one
    share: float
    why: str

    @property
    def named(self) -> tuple[Named, ...]:
        return (self.decision, self.cause) if self.cause else (self.decision,)


@dataclass(frozen=True)
class Answer:
    """What one `compare` or `diagnose` said."""

    verdict: str
    candidates: tuple[Candidate, ...]
    change: float  # bad / good of the symptom; 0 where it is not told


@dataclass(frozen=True)
class Score:
    rank: int | None  # of the first candidate that names a true function
    on_the_line: bool  # and its line
    also: int | None  # rank of the first that names one of the effects that belong to it


def answer_of(verdict: Mapping[str, Any]) -> Answer:
    symptom = verdict.get("symptom") or {}
    good, bad = symptom.get("good") or 0, symptom.get("bad") or 0
    return Answer(
        verdict=verdict["verdict"],
        candidates=tuple(_candidate(one) for one in verdict["suspects"] if _of_relations(one)),
        change=bad / good if good else 0.0,
    )


def _of_relations(suspect: Mapping[str, Any]) -> bool:
    return any(evidence["engine"] == "relations" for evidence in suspect["evidence"])


def _candidate(suspect: Mapping[str, Any]) -> Candidate:
    detail = next(evidence["detail"] for evidence in suspect["evidence"] if evidence["engine"] == "relations")
    cause = detail.get("cause")
    return Candidate(
        decision=Named(suspect["function"], suspect["file"] or "", suspect["line"] or 0),
        cause=Named(cause["function"], cause["file"], cause["line"]) if cause else None,
        share=suspect["share"],
        why=suspect["why"],
    )


def score(answer: Answer, truth: Sequence[Lines], also: Sequence[str]) -> Score:
    rank, on_the_line = None, False
    for position, candidate in enumerate(answer.candidates, start=1):
        if any(same(place.function, lines.function) for place in candidate.named for lines in truth):
            rank = position
            on_the_line = any(_is_at(place, lines) for place in candidate.named for lines in truth)
            break
    belongs = (
        position
        for position, candidate in enumerate(answer.candidates, start=1)
        if any(same(candidate.decision.function, function) for function in also)
    )
    return Score(rank, on_the_line, next(belongs, None))


def _is_at(place: Named, lines: Lines) -> bool:
    if not same(place.function, lines.function):
        return False
    if not lines.first:
        return True
    return PurePath(place.file).name == lines.file and lines.first - _NEAR <= place.line <= lines.last + _NEAR


def is_right(answer: Answer, scored: Score, truth: Sequence[Lines]) -> bool:
    """At most three candidates, the true one first; or none where there is nothing to be found."""
    return scored.rank == 1 and len(answer.candidates) <= 3 if truth else not answer.candidates
