"""Several starts at once, before one is followed: at which of them do values differ?"""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.errors import WhyperfError
from whyperf.origin.evidence import Bounds, Observing, OriginEvidence, OutOfBudgetError, Targets
from whyperf.origin.search import KnownPrograms, compared_at
from whyperf.origin.starts import Start, StartAtCalls, StartingPoint, starting_points
from whyperf.origin.trail import Trail

_MOST_POINTS = 180


def tells_something(
    starts: Sequence[Start], targets: Targets, bounds: Bounds, observing: Observing, known: KnownPrograms
) -> tuple[list[bool], int]:
    """Of each start, whether its values differ, or addresses come back again and again, or it is no value; and how many
    runs that took: one pair for all. `known` keeps what was seen, so that nobody looks there again."""
    evidence = OriginEvidence(known.code, targets, bounds, observing, known.places)
    trail = Trail(known.code, evidence)
    points = [_points(known, one) for one in starts]
    try:
        wanted = [(one.here, one.definition) for some in points for one in some or ()]
        trail.look(wanted, "looking at all starts", most=_MOST_POINTS)
    except OutOfBudgetError:
        return [True] * len(starts), evidence.runs
    told = [some is None or any(compared_at(trail, one).rank for one in some) for some in points]
    return told, evidence.runs


def _points(known: KnownPrograms, start: Start) -> list[StartingPoint] | None:
    """None where it is no value; empty where there is no code."""
    if isinstance(start, StartAtCalls):
        return None
    try:
        return starting_points(known.code.module(start.binary), start)
    except WhyperfError:
        return []
