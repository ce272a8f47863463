"""What an engine says: the plain data that `diagnose` weighs and reports show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whyperf.recording.names.identity import FunctionKey


@dataclass(frozen=True)
class Place:
    file: str
    line: int
    block: int = -1
    decided_by: int = 0  # the line whose condition decides that this one is reached; 0: none, or unknown


@dataclass(frozen=True)
class HotLine:
    line: int
    share: float  # of the function's excess
    text: str = ""


@dataclass(frozen=True)
class ChangedLine:
    """A line of source of two builds."""

    build: Literal["good", "bad", "both"]  # which one only has it; both: a line for orientation
    line: int  # in that build, the bad one if in both
    text: str


@dataclass(frozen=True)
class SourceChange:
    """How a function's source differs between two builds, as far as recordings hold both."""

    hunks: tuple[tuple[ChangedLine, ...], ...]  # in order; in each place the good build's lines before the bad one's
    more: int  # lines that differ as well


@dataclass(frozen=True)
class Strength:
    """How far a finding stands out of the noise, in terms that mean the same for every engine."""

    sigma: float  # standard errors between good and bad
    separated: bool  # every bad run beyond every good run
    low: float  # 95% interval of the score
    high: float
    inferred: bool = False  # what stands out was seen elsewhere, and this is what may have led to it
    stands_out: bool = True  # of the noise by itself; else it is named for what it has to do with one that does


@dataclass(frozen=True, kw_only=True)
class Detail:
    """An engine's own figures of a finding; each engine has a class of its own."""

    interval: tuple[float, float] | None = None  # 95%, of the share
    good_runs: tuple[float, ...] | None = None  # what the function answers for, run by run
    bad_runs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Finding:
    """One engine's evidence against one function."""

    engine: str
    function: FunctionKey
    place: Place
    rank: int
    score: float  # share of the excess that the engine charges to it, 0 to 1
    share: float
    path: tuple[str, ...]  # outermost first, down to the function
    pattern: str
    why: str
    lines: tuple[HotLine, ...] = ()
    detail: Detail = Detail()
    strength: Strength | None = None
    change: SourceChange | None = None  # where its code differs between two builds
