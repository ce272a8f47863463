"""All relations of one symptom in one pass, and which of them changed (Perspect, 3.3.1 and 3.3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from whyperf.engines.relations.arrays import Floats, Int32s
from whyperf.engines.relations.catalogue import NONE
from whyperf.engines.relations.changed import Counts, has_changed, share_changed
from whyperf.engines.relations.comparing import Below, Comparison, Side, below
from whyperf.engines.relations.early_exit import way_out
from whyperf.engines.relations.forward import Edge, beyond
from whyperf.engines.relations.relation import Backward, Decision, Forward, Relation
from whyperf.engines.relations.symptoms import Symptom
from whyperf.recording.deep_tables import RegionKind

_Key = tuple[int, int]
"""Decision of the catalogue and class called: one of them is NONE."""


@dataclass(eq=False)
class Found:
    """Relations by decision, over all symptoms."""

    relations: dict[_Key, list[Relation]] = field(default_factory=lambda: defaultdict(list))
    depth: dict[_Key, int] = field(default_factory=dict)
    looked_at: int = 0

    def decisions(self) -> list[Decision]:
        return [Decision(*key, self.depth.get(key, 0), tuple(found)) for key, found in self.relations.items()]

    def add(self, key: _Key, relation: Relation, depth: int) -> None:
        self.relations[key].append(relation)
        self.depth[key] = min(depth, self.depth.get(key, depth))


def search(comparison: Comparison, symptom: Symptom, most: float, found: Found) -> None:
    """Adds to `found`. `most`: what a relation can contribute at most, the symptom's change."""
    weights = below(comparison, symptom)
    edges = _edges_above(comparison, weights)
    found.looked_at += len(edges)
    late = _late_iterations(comparison, weights)
    depth = _depths(comparison, weights)
    for edge, (good_weight, bad_weight) in edges.items():
        relation = _forward(comparison, symptom, edge, good_weight, bad_weight, late.get(edge, 0.0), most)
        if relation is not None:
            found.add(_key(comparison, relation.edge[1]), relation, int(depth[edge[1]]))
    passing = _passing(comparison, weights)
    decided = {comparison.catalogue.classes[edge[1]].decision: edge[1] for edge in edges}
    for decision, label in decided.items():
        if decision != NONE:
            for changed in _backward(comparison, symptom, decision, weights, min(most, passing[decision]), found):
                found.add((decision, NONE), changed, int(depth[label]))


def _key(comparison: Comparison, label: int) -> _Key:
    decision = comparison.catalogue.classes[label].decision
    return (decision, NONE) if decision != NONE else (NONE, label)


def _edges_above(comparison: Comparison, weights: Below) -> dict[Edge, tuple[float, float]]:
    """Edges with some of the symptom below them in either side, and how much, per run."""
    sides = []
    for side, weight in ((comparison.good, weights.good), (comparison.bad, weights.bad)):
        per_edge = side.fanout.weights(weight) / side.trace.runs
        sides.append({edge: float(per_edge[number]) for edge, number in side.fanout.edges.items()})
    good, bad = sides
    pairs = {edge: (good.get(edge, 0.0), bad.get(edge, 0.0)) for edge in good.keys() | bad.keys() if edge[0] != NONE}
    return {edge: pair for edge, pair in sorted(pairs.items()) if pair[0] > 0 or pair[1] > 0}


def _late_iterations(comparison: Comparison, weights: Below) -> dict[Edge, float]:
    """By edge from a loop to its iterations: the symptom in iterations beyond the good runs' mean, per bad run."""
    bad = comparison.bad
    loops = {
        edge: number
        for edge, number in bad.fanout.edges.items()
        if comparison.catalogue.classes[edge[1]].kind == RegionKind.ITERATION
    }
    usual = {number: comparison.good.fanout.counts(edge).mean for edge, number in loops.items()}
    late = beyond(bad.trace, bad.fanout, weights.bad, bad.iterations, usual)
    return {edge: late[number] / bad.trace.runs for edge, number in loops.items()}


def _forward(
    comparison: Comparison,
    symptom: Symptom,
    edge: Edge,
    good_weight: float,
    bad_weight: float,
    late: float,
    most: float,
) -> Forward | None:
    good, bad = comparison.good.fanout.counts(edge), comparison.bad.fanout.counts(edge)
    if not has_changed(good, bad, comparison.settings):
        return None
    parents = bad.events / comparison.bad.trace.runs
    contribution = (
        symptom.polarity * (bad.mean - good.mean) * parents * _per_child(comparison, good, bad, good_weight, bad_weight)
    )
    is_iteration = comparison.catalogue.classes[edge[1]].kind == RegionKind.ITERATION
    if is_iteration and bad.mean > good.mean:
        contribution = symptom.polarity * max(abs(contribution), late)
    contribution = max(-most, min(most, contribution))
    found = Forward(edge, good, bad, contribution, symptom, parents)
    return way_out(comparison, found)


def _per_child(comparison: Comparison, good: Counts, bad: Counts, good_weight: float, bad_weight: float) -> float:
    """How much of the symptom one more child brings: as in the bad runs, or in the good ones if it vanished there."""
    if bad.total and bad_weight:
        return bad_weight * comparison.bad.trace.runs / bad.total
    return good_weight * comparison.good.trace.runs / good.total if good.total else 0.0


def _backward(
    comparison: Comparison, symptom: Symptom, decision: int, weights: Below, passing: float, found: Found
) -> Iterator[Backward]:
    """Producers whose share among the tests on the way to the symptom changed. `passing`: what hangs on them."""
    settings = comparison.settings
    leading = [
        side.deciding.leading(decision, weight)
        for side, weight in ((comparison.good, weights.good), (comparison.bad, weights.bad))
    ]
    with_functions = min(tests.groups for tests, _ in leading) >= settings.few_events
    if not with_functions:  # too rare on the way to the symptom: all that the branch decided, whatever came of it
        leading = [side.deciding.all_of(decision) for side in comparison.sides]
    good, bad = (
        side.closures.origins(tests, weight) for side, (tests, weight) in zip(comparison.sides, leading, strict=True)
    )
    found.looked_at += int(np.count_nonzero((good.groups > 0) | (bad.groups > 0)))
    if not good.total_weight or not bad.total_weight:
        return
    direction = symptom.polarity * (1 if symptom.change >= 0 else -1)
    places = len(comparison.catalogue.places)
    good_share, bad_share = good.weight / good.total_weight, bad.weight / bad.total_weight
    for slot in np.flatnonzero(np.abs(good_share - bad_share) >= settings.means_apart).tolist():
        if slot >= places and not with_functions:
            continue
        was, now = float(good_share[slot]), float(bad_share[slot])
        if not share_changed(round(was, 9), round(now, 9), good.total_groups, bad.total_groups, settings):
            continue
        contribution = passing * abs(now - was) * direction
        distance = float(bad.distance[slot] if bad.groups[slot] else good.distance[slot])
        tests = good.total_groups, bad.total_groups
        producer, executions = _producer(comparison, slot)
        yield Backward(producer, slot >= places, was, now, tests, distance, contribution, symptom, executions)


def _passing(comparison: Comparison, weights: Below) -> Floats:
    """By decision: how much of the symptom hangs on it, in a bad run; in a good one if it vanished."""
    bad, good = _hanging(comparison.bad, weights.bad), _hanging(comparison.good, weights.good)
    return np.where(bad > 0, bad, good)


def _hanging(side: Side, weight: Floats) -> Floats:
    classes = side.catalogue.classes
    per_class = np.bincount(side.trace.label, weights=weight * side.fanout.outermost, minlength=len(classes))
    hanging = np.zeros((2, len(side.catalogue.decisions)))
    for label, one in enumerate(classes):
        if one.decision != NONE:
            hanging[int(one.kind == RegionKind.ITERATION), one.decision] += per_class[label]
    # An arm that a loop's own test opens lies within an iteration: the same symptom, not more of it.
    per_run: Floats = hanging.max(axis=0) / side.trace.runs
    return per_run


def _producer(comparison: Comparison, slot: int) -> tuple[int, tuple[float, float]]:
    places = len(comparison.catalogue.places)
    number = slot if slot < places else slot - places
    counts: tuple[Floats, Floats]
    if slot < places:
        counts = comparison.good.place_executed, comparison.bad.place_executed
    else:
        counts = comparison.good.called, comparison.bad.called
    return number, (float(counts[0][number]), float(counts[1][number]))


def _depths(comparison: Comparison, weights: Below) -> Int32s:
    """By class: the depth of the outermost region that leads to the symptom."""
    depth = np.full(len(comparison.catalogue.classes), np.iinfo(np.int32).max, np.int32)
    for side, weight in ((comparison.good, weights.good), (comparison.bad, weights.bad)):
        leading = weight > 0
        np.minimum.at(depth, side.trace.label[leading], side.trace.depth[leading])
    return depth
