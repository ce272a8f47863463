"""The relations around a symptom as a graph for reports: the way down to it, and where its tests' values come from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide, below
from whyperf.engines.relations.detail import RelationEdge, RelationGraph, RelationNode
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.reported.candidates import RelationCandidate
from whyperf.recording.schemas.deep_tables import RegionKind

_KINDS = {
    RegionKind.ACTIVATION: "call",
    RegionKind.LOOP: "loop",
    RegionKind.ITERATION: "iteration",
    RegionKind.ARM: "branch",
    RegionKind.THREAD: "thread",
    RegionKind.SIGNAL: "signal",
}


def way_down(comparison: RelationsComparison, candidate: RelationCandidate) -> list[int]:
    """Classes from the root to the symptom, through the decision: the heaviest such way in the bad runs."""
    weights = below(comparison, candidate.symptom)
    for side, weight, own in (
        (comparison.bad, weights.bad, candidate.symptom.bad),
        (comparison.good, weights.good, candidate.symptom.good),
    ):
        through = _through(comparison.catalogue, side, candidate)
        if not len(through) or not weight[through].max() > 0:
            continue
        region = int(through[int(np.argmax(weight[through]))])
        return [*reversed(side.classes_upward(region)), *_heaviest_below(side, region, weight, own)]
    return []


def graph(comparison: RelationsComparison, candidate: RelationCandidate) -> RelationGraph:
    catalogue = comparison.catalogue
    way = way_down(comparison, candidate)
    nodes = [_class_node(comparison, label) for label in way]
    edges = []
    changed = candidate.forward.edge if candidate.forward is not None else None
    for number, pair in enumerate(pairwise(way)):
        good, bad = (side.fanout.counts(pair).mean for side in comparison.sides)
        edges.append(RelationEdge(number, number + 1, "contains", good, bad, pair == changed))
    symptom = candidate.symptom
    nodes.append(RelationNode(symptom.name, "symptom", "", "", 0, symptom.good_total, symptom.bad_total))
    if way:
        edges.append(RelationEdge(len(way) - 1, len(way), "contains", symptom.good_total, symptom.bad_total, False))
    decided = next((n for n, label in enumerate(way) if _decides(catalogue, label, candidate)), None)
    for relation in (candidate.gaining, candidate.losing, candidate.losing_function):
        if relation is not None and decided is not None:
            nodes.append(_producer_node(catalogue, relation.producer, relation.is_function, relation.executions))
            edges.append(RelationEdge(len(nodes) - 1, decided, "value", relation.good, relation.bad, True))
    return RelationGraph(tuple(nodes), tuple(edges))


def _decides(catalogue: Catalogue, label: int, candidate: RelationCandidate) -> bool:
    if candidate.branch == NONE:
        return label == candidate.label
    return catalogue.classes[label].decision == candidate.branch


def _through(catalogue: Catalogue, side: TraceSide, candidate: RelationCandidate) -> np.ndarray:
    labels = [label for label in range(len(catalogue.classes)) if _decides(catalogue, label, candidate)]
    return np.flatnonzero(np.isin(side.trace.label, labels))


def _heaviest_below(side: TraceSide, region: int, weight: np.ndarray, own: np.ndarray) -> list[int]:
    start, order = side.trace.children
    way: list[int] = []
    while True:
        children = order[start[region] : start[region + 1]]
        if not len(children) or weight[children].max() <= own[region] or weight[children].max() <= 0:
            return way
        region = int(children[int(np.argmax(weight[children]))])
        way.append(int(side.trace.label[region]))


def _class_node(comparison: RelationsComparison, label: int) -> RelationNode:
    catalogue = comparison.catalogue
    one = catalogue.classes[label]
    good, bad = (float(side.fanout.instances[label]) / side.trace.runs for side in comparison.sides)
    place = catalogue.places[one.place] if one.place != NONE else None
    function = catalogue.name(one.function) if one.function != NONE else ""
    at = (place.file, place.line) if place else ("", 0)
    return RelationNode(function or _KINDS[one.kind], _KINDS[one.kind], function, *at, good, bad)


def _producer_node(
    catalogue: Catalogue, producer: int, is_function: bool, executions: tuple[float, float]
) -> RelationNode:
    if is_function:
        function = catalogue.functions[producer]
        return RelationNode(function.key.name, "call", function.key.name, function.file, function.line, *executions)
    place = catalogue.places[producer]
    name = catalogue.name(place.inlined)
    return RelationNode(name, "line", name, place.file, place.line, *executions)
