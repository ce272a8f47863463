"""What engines say, in the terms in which it is joined: claims about things in the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from whyperf.diagnose.verdict import Suspect
from whyperf.engines.finding import Finding
from whyperf.engines.functions import UNKNOWN
from whyperf.recording.names.identity import FunctionKey, without_version


@dataclass(frozen=True, order=True)
class Thing:
    """What a claim is about: a function."""

    module: str
    name: str
    file: str = ""  # where the name alone does not tell
    part: str = ""  # of it, where one engine tells several apart: a line, or of unknown code the thread


@dataclass(frozen=True)
class Claim:
    """One engine's evidence against one thing."""

    engine: str
    thing: Thing
    rank: int  # in the engine's own order
    score: float  # 0 to 1, and no higher than that of what the engine ranks before it
    suspect: Suspect  # as this engine alone would show it
    preface: str = ""  # said before what the engine says that is trusted most
    remark: str = ""  # said behind it
    counted_in: str = ""  # an engine whose scores hold this evidence already: it tells more, and adds nothing
    same_time_as: str = ""  # an engine that sees the very same time in this thing: the larger of both counts
    hidden_from: str = ""  # an engine that cannot see the thing, and charges its time to others
    share_is_of: str = ""  # a sentence, where its share leaves something out that whoever else names the thing may know
    effects: frozenset[Thing] = frozenset()  # things in which time passes because of this one


def thing_of(function: FunctionKey, part: str = "") -> Thing:
    return Thing(without_version(function.module), function.name, function.file, part)


def claims_of(findings: Iterable[Finding], suspects: Iterable[Suspect]) -> Iterator[Claim]:
    """Of findings in the engine's order, which is its word: nothing counts more than what is put before it.

    `suspects`: the same, as they would be shown.
    """
    score = 1.0
    for finding, suspect in zip(findings, suspects, strict=True):
        score = min(score, finding.score)
        thread = f"{suspect.process}/{suspect.thread}" if finding.function.name == UNKNOWN else ""
        yield Claim(finding.engine, thing_of(finding.function, thread), finding.rank, score, suspect)
