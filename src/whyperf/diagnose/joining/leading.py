"""A verdict that somebody else leads: who decides comes before who pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from whyperf.diagnose.joining.shares import answering_for, counted_once
from whyperf.diagnose.verdict import Evidence, Suspect, Verdict
from whyperf.engines.finding import Detail


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


def suspect_at(decides: Deciding, payer: Suspect, why: str, engine: str) -> Suspect:
    """A new suspect, that answers for what the payer was charged with."""
    return replace(
        payer,
        function=decides.function,
        module=decides.module,
        file=decides.file,
        line=decides.line,
        block=0,
        decided_by=0,
        path=(),
        confidence="medium",
        why=why,
        variables=(),
        evidence=(Evidence(engine, 1, payer.score, Detail()),),
        lines=(),
        change=None,
        commits=(),
    )


def paying(payer: Suspect, decides: Deciding) -> Suspect:
    """Where time is spent; shares are counted once, so it answers for nothing any more."""
    said = f"{_by_first_runs(payer)} It pays for what {decides.function} decides."
    return replace(answering_for(payer, 0.0), score=0.0, why=said)


def ranked(verdict: Verdict, suspects: Sequence[Suspect]) -> Verdict:
    """In this order."""
    told = (
        replace(counted, why=_by_first_runs(one)) if counted.share < one.share else counted
        for one, counted in zip(suspects, counted_once(suspects), strict=True)
    )
    return replace(verdict, suspects=tuple(replace(one, rank=rank) for rank, one in enumerate(told, 1)))


def _by_first_runs(suspect: Suspect) -> str:
    """What is said of a suspect that does not answer any more for what it was charged with."""
    return f"By the first runs alone: {suspect.why}"
