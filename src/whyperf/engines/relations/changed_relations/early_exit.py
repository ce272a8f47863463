"""Where a run never came to a region because it ended inside a sibling: the way out is the relation that changed.

A program that leaves by `exit` in one branch never reaches what comes after. That it does not call the rest is true but
explains nothing; the first arm on its way out that the other run never takes does.
"""

from __future__ import annotations

from dataclasses import replace

from whyperf.engines.relations.changed_relations.fanout import Edge
from whyperf.engines.relations.changed_relations.relation import Forward
from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.recording.schemas.deep_tables import RegionKind


def way_out(comparison: RelationsComparison, relation: Forward) -> Forward:
    """The relation itself, or the one that stands behind it."""
    for ended, other, missing in (
        (comparison.good, comparison.bad, relation.good.mean == 0),
        (comparison.bad, comparison.good, relation.bad.mean == 0),
    ):
        edge = _first_new_arm(comparison, ended, other, relation.edge) if missing else None
        if edge is not None:
            good, bad = comparison.good.fanout.counts(edge), comparison.bad.fanout.counts(edge)
            return replace(relation, edge=edge, good=good, bad=bad, left_early=True)
    return relation


def _first_new_arm(comparison: RelationsComparison, ended: TraceSide, other: TraceSide, edge: Edge) -> Edge | None:
    """On the way from the parent to where the run ended, the first arm that the other run never takes."""
    parent, child = edge
    for end in ended.trace.ends.tolist():
        way = ended.classes_upward(int(end))
        if parent == NONE or parent not in way:
            continue
        for step in range(way.index(parent), 0, -1):
            inner = way[step], way[step - 1]
            taken = other.fanout.counts(inner)
            if not taken.events:
                break
            if taken.mean == 0:
                is_arm = comparison.catalogue.classes[inner[1]].kind == RegionKind.ARM
                return inner if is_arm and inner[1] != child else None
    return None
