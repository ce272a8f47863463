"""Which kind of mistake a suspect is, of all that engines know of it: docs/how-the-verdict-is-joined.md, in code.

The kinds are those of vProf's paper (section 3.4.2), and new paths. What a function's data say goes first; where they
are silent, how its time grew speaks: in a loop, in calls that a loop repeats, between two builds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyperf.diagnose.verdict import Evidence
from whyperf.engines.excess.blame_reasons import BlameReason
from whyperf.engines.excess.detail import CHANGED, ExcessDetail
from whyperf.engines.values.patterns import MISSING_CONSTRAINT, SCALABILITY, UNKNOWN, WRONG_CONSTRAINT

NEW_PATH = "new-path"


@dataclass(frozen=True)
class HowItGrew:
    """How a suspect's time grew."""

    role: BlameReason | None = None  # None: no engine says
    repeats: bool = False  # in a loop of its own
    in_every_round: bool = False  # nothing but the loop around it decides that its hottest line is reached
    new_code: bool = False  # the good runs' program does not have what it answers for
    two_builds: bool = False  # the good runs are of another build that was told to do the same
    changed: bool = False  # and in which its code is another


def how_it_grew(evidence: Iterable[Evidence]) -> HowItGrew:
    detail = next((one.detail for one in evidence if isinstance(one.detail, ExcessDetail)), None)
    if detail is None:
        return HowItGrew()
    return HowItGrew(
        role=detail.role,
        repeats=detail.repeats,
        in_every_round=detail.in_every_round,
        new_code=detail.new_code,
        two_builds=detail.two_builds,
        changed=detail.code == CHANGED,
    )


def together(first: str, other: str) -> str:
    """What two engines call it. A new path is a fact; that a flipped condition leads there explains it."""
    if other == UNKNOWN or first not in (UNKNOWN, NEW_PATH):
        return first
    return other if first == UNKNOWN or other == WRONG_CONSTRAINT else first


def likeliest(told: str, growth: HowItGrew) -> str:
    """`told`: by the engines, taken together."""
    pattern = _by_growth(growth) if told == UNKNOWN else told
    explained = pattern not in (SCALABILITY, NEW_PATH, UNKNOWN) or growth.new_code
    return pattern if explained or not growth.two_builds else _between_builds(pattern, growth)


def _by_growth(growth: HowItGrew) -> str:
    calls_more = growth.role is BlameReason.CALLS_MORE
    if calls_more and growth.new_code:
        return NEW_PATH
    if growth.repeats:  # and nothing is known of the loop's data: it has more to go through, mostly
        return SCALABILITY
    if calls_more:
        # The loop goes as ever. If nothing in it decides about the call, a condition is missing; else it lets through.
        return MISSING_CONSTRAINT if growth.in_every_round else NEW_PATH
    # It is called as ever and calls more: whatever decides about the call decides otherwise.
    return WRONG_CONSTRAINT if growth.role is BlameReason.CALLS_OFTENER else UNKNOWN


def _between_builds(pattern: str, growth: HowItGrew) -> str:
    """Told to do the same, the good build has no less to go through."""
    if growth.role is BlameReason.ELSEWHERE:
        # What loops and conditions of others look at is made otherwise: their evaluation is wrong, not their code.
        return WRONG_CONSTRAINT
    # What the good build can do as well and does without, it tells apart from the rest; here it is done uniformly.
    does_without = pattern != UNKNOWN or (growth.changed and growth.role is BlameReason.OWN)
    return MISSING_CONSTRAINT if does_without else UNKNOWN
