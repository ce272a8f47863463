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
class Growth:
    """How a suspect's time grew."""

    role: Role | None = None  # None: no engine says
    repeats: bool = False  # in a loop of its own
    in_every_round: bool = False  # nothing but the loop around it decides that its hottest line is reached
    other_build: bool = False  # the good runs are of another build that was given the same arguments


def growth_of(evidence: Iterable[Evidence]) -> Growth:
    detail = next((one.detail for one in evidence if one.engine == EXCESS), {})
    facts = {name: bool(detail.get(name)) for name in ("repeats", "in_every_round", "other_build")}
    return Growth(Role(detail["role"]) if "role" in detail else None, **facts)


def together(first: str, other: str) -> str:
    """What two engines call it. A new path is a fact; that a flipped condition leads there explains it."""
    if other == UNKNOWN or first not in (UNKNOWN, NEW_PATH):
        return first
    return other if first == UNKNOWN or other == WRONG_CONSTRAINT else first


def likeliest(told: str, growth: Growth) -> str:
    """`told`: by the engines, taken together."""
    pattern = _by_growth(growth) if told == UNKNOWN else told
    lets_through = pattern in (SCALABILITY, NEW_PATH) and growth.role is not Role.NEW_CODE
    # Given the same, the good build has no more data and does without: it tells apart what this one does uniformly.
    return MISSING_CONSTRAINT if growth.other_build and lets_through else pattern


def _by_growth(growth: Growth) -> str:
    if growth.repeats:  # and nothing is known of the loop's data: it has more to go through, mostly
        return SCALABILITY
    if growth.role is Role.CALLS_MORE:
        # The loop goes as ever. If nothing in it decides about the call, a condition is missing; else it lets through.
        return MISSING_CONSTRAINT if growth.in_every_round else NEW_PATH
    return UNKNOWN
