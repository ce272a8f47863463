"""Which kind of mistake a suspect is, of all that engines know of it: docs/how-the-verdict-is-joined.md, in code.

The kinds are those of vProf's paper (section 3.4.2), and new paths. What a function's data say goes first; where they
are silent, how its time grew speaks: in a loop, or in calls that a loop repeats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyperf.diagnose.verdict import Evidence
from whyperf.engines.excess.findings import ENGINE as EXCESS
from whyperf.engines.excess.findings import Role
from whyperf.engines.values.patterns import MISSING_CONSTRAINT, SCALABILITY, UNKNOWN, WRONG_CONSTRAINT

NEW_PATH = "new-path"


@dataclass(frozen=True)
class HowItGrew:
    """How a suspect's time grew."""

    role: Role | None = None  # None: no engine says
    repeats: bool = False  # in a loop of its own
    in_every_round: bool = False  # nothing but the loop around it decides that its hottest line is reached
    other_build: bool = False  # the good runs are of another build that was given the same arguments
    new_code: bool = False  # and it answers for what that build does not have


def how_it_grew(evidence: Iterable[Evidence]) -> HowItGrew:
    detail = next((one.detail for one in evidence if one.engine == EXCESS), {})
    facts = {name: bool(detail.get(name)) for name in ("repeats", "in_every_round", "other_build", "new_code")}
    return HowItGrew(Role(detail["role"]) if "role" in detail else None, **facts)


def together(first: str, other: str) -> str:
    """What two engines call it. A new path is a fact; that a flipped condition leads there explains it."""
    if other == UNKNOWN or first not in (UNKNOWN, NEW_PATH):
        return first
    return other if first == UNKNOWN or other == WRONG_CONSTRAINT else first


def likeliest(told: str, growth: HowItGrew) -> str:
    """`told`: by the engines, taken together."""
    pattern = _by_growth(growth) if told == UNKNOWN else told
    # Given the same, a build that has this as well does without: it tells apart what is done uniformly here.
    uniform = growth.other_build and not growth.new_code and pattern in (SCALABILITY, NEW_PATH)
    return MISSING_CONSTRAINT if uniform else pattern


def _by_growth(growth: HowItGrew) -> str:
    calls_more = growth.role is Role.CALLS_MORE
    if calls_more and growth.new_code:
        return NEW_PATH
    if growth.repeats:  # and nothing is known of the loop's data: it has more to go through, mostly
        return SCALABILITY
    if calls_more:
        # The loop goes as ever. If nothing in it decides about the call, a condition is missing; else it lets through.
        return MISSING_CONSTRAINT if growth.in_every_round else NEW_PATH
    return UNKNOWN
