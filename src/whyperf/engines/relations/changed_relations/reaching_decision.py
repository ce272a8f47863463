"""Why a producer is executed in one run and hardly in the other: the decision on the way to it.

An interpreter's loop tests what a compiler of some sort emitted, a server's what a parser stored. That the tested
values come from another place says what happened; where the runs parted on the way to that place says why.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyperf.engines.relations.changed_relations.changed import has_changed
from whyperf.engines.relations.changed_relations.fanout import Edge
from whyperf.engines.relations.changed_relations.relation import EdgeChange
from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.recording.schemas.deep_tables import RegionKind

_EXECUTIONS_LOOKED_AT = 20


@dataclass(frozen=True, eq=False)
class WayIn:
    """Where the runs part: a relation that holds the producer's executions, and the line that decides it."""

    change: EdgeChange
    place: int
    elsewhere: bool
    """In another function's activation than the producer."""


@dataclass(frozen=True)
class _Step:
    edge: Edge
    place: int
    elsewhere: bool
    explains: float  # which part of the producer's executions would not be there


def way_in(comparison: RelationsComparison, producer: int) -> WayIn | None:
    """None where the producer, a place, is executed about as often in both runs, or no decision on its way changed."""
    good, bad = (float(side.place_executed[producer]) for side in comparison.sides)
    least = comparison.settings.explained_by_producers
    if abs(bad - good) < least * max(good, bad) or comparison.catalogue.places[producer].only_in:
        return None
    here, there = (comparison.bad, comparison.good) if bad > good else (comparison.good, comparison.bad)
    sites = np.flatnonzero(comparison.catalogue.site_place == producer).tolist()
    found = (_parting(comparison, here, there, event) for event in here.first_executions(sites, _EXECUTIONS_LOOKED_AT))
    parted = Counter(step for step in found if step is not None)
    if not parted:
        return None
    step = max(parted, key=lambda one: (parted[one], one.edge))
    counts = (side.fanout.counts(step.edge) for side in comparison.sides)
    return WayIn(EdgeChange(step.edge, *counts), step.place, step.elsewhere)


def _parting(comparison: RelationsComparison, here: TraceSide, there: TraceSide, event: int) -> _Step | None:
    """Of the decisions around an execution that explain as much as the best, the outermost: the others follow it."""
    settings = comparison.settings
    steps = _steps(comparison, here, there, event)
    best = max((step.explains for step in steps), default=0.0)
    if best < settings.explained_by_producers:
        return None
    return next(step for step in reversed(steps) if step.explains >= settings.as_good_as_best * best)


def _steps(comparison: RelationsComparison, here: TraceSide, there: TraceSide, event: int) -> list[_Step]:
    """Changed edges of the tree above an execution, innermost first."""
    found = []
    trace, elsewhere = here.trace, False
    region = int(trace.region[event])
    while region >= 0 and (parent := int(trace.parent[region])) >= 0:
        edge = int(trace.label[parent]), int(trace.label[region])
        was, now = there.fanout.counts(edge), here.fanout.counts(edge)
        elsewhere = elsewhere or here.kind[region] == RegionKind.ACTIVATION
        place = _deciding(here, region)
        if place != NONE and now.mean > was.mean and has_changed(was, now, comparison.settings):
            found.append(_Step(edge, place, elsewhere, 1 - was.mean / now.mean))
        region = parent
    return found


def _deciding(side: TraceSide, region: int) -> int:
    """The place of the branch or of the call that led to a region."""
    if side.kind[region] != RegionKind.ACTIVATION:
        return side.catalogue.classes[int(side.trace.label[region])].place
    opener = int(side.trace.opener[region])
    return int(side.catalogue.site_place[side.trace.site[opener]]) if opener >= 0 else NONE
