"""All relations of one symptom in one pass, and which of them changed (Perspect, 3.3.1 and 3.3.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Floats, Int32s
from whyperf.engines.relations.changed_relations.changed import Counts, has_changed, share_changed
from whyperf.engines.relations.changed_relations.closure import Origins
from whyperf.engines.relations.changed_relations.fanout import Edge, beyond
from whyperf.engines.relations.changed_relations.relation import Backward, BranchDecision, Forward, Relation
from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide, WeightBelow, below
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.engines.relations.executions.tree_passes import inclusive
from whyperf.recording.schemas.deep_tables import RegionKind

_MOSTLY = 0.5
_Key = tuple[int, int]
"""Decision of the catalogue and class called: one of them is NONE."""


@dataclass(eq=False)
class FoundRelations:
    """Relations by decision, over all symptoms."""

    relations: dict[_Key, list[Relation]] = field(default_factory=lambda: defaultdict(list))
    depth: dict[_Key, int] = field(default_factory=dict)
    steady: dict[int, int] = field(default_factory=dict)
    """By decision: the place where the values that it tests mostly come from, in both runs; NONE if there is none."""
    looked_at: int = 0

    def decisions(self) -> list[BranchDecision]:
        return [BranchDecision(*key, self.depth.get(key, 0), tuple(found)) for key, found in self.relations.items()]

    def add(self, key: _Key, relation: Relation, depth: int) -> None:
        self.relations[key].append(relation)
        self.depth[key] = min(depth, self.depth.get(key, depth))


def search(comparison: RelationsComparison, symptom: RelationSymptom, most: float, found: FoundRelations) -> None:
    """Adds to `found`. `most`: what a relation can contribute at most, the symptom's change."""
    sought = _Sought(comparison, symptom, most, below(comparison, symptom))
    edges = sought.edges()
    found.looked_at += len(edges)
    late, depth, passing = sought.late_iterations(), sought.depths(), sought.passing()
    for edge, weights in edges.items():
        relation = sought.forward(edge, weights, late.get(edge, 0.0))
        if relation is not None:
            found.add(_key(comparison, relation.edge[1]), relation, int(depth[edge[1]]))
    decided = {comparison.catalogue.classes[edge[1]].decision: edge[1] for edge in edges}
    for decision, label in decided.items():
        if decision != NONE:
            good, bad = sought.origins(decision)
            found.looked_at += int(np.count_nonzero((good.groups > 0) | (bad.groups > 0)))
            found.steady.setdefault(decision, _steady(comparison, decision, good, bad))
            for changed in sought.backward(good, bad, float(passing[decision])):
                found.add((decision, NONE), changed, int(depth[label]))


@dataclass(frozen=True, eq=False)
class _Sought:
    comparison: RelationsComparison
    symptom: RelationSymptom
    most: float
    weights: WeightBelow

    @property
    def _sides(self) -> tuple[tuple[TraceSide, Floats], tuple[TraceSide, Floats]]:
        return (self.comparison.good, self.weights.good), (self.comparison.bad, self.weights.bad)

    def edges(self) -> dict[Edge, tuple[float, float]]:
        """Edges with some of the symptom below them in either side, and how much, per run."""
        sides = []
        for side, weight in self._sides:
            per_edge = side.fanout.weights(weight) / side.trace.runs
            sides.append({edge: float(per_edge[number]) for edge, number in side.fanout.edges.items()})
        good, bad = sides
        pairs = {edge: (good.get(edge, 0.0), bad.get(edge, 0.0)) for edge in good | bad if edge[0] != NONE}
        return {edge: pair for edge, pair in sorted(pairs.items()) if max(pair) > 0}

    def late_iterations(self) -> dict[Edge, float]:
        """By edge from a loop to its iterations: the symptom in iterations beyond the good runs' mean, per bad run."""
        return {edge: late / self.comparison.bad.trace.runs for edge, late in self._late(self.weights.bad).items()}

    def _late(self, below: Floats) -> dict[Edge, float]:
        good, bad, classes = self.comparison.good, self.comparison.bad, self.comparison.catalogue.classes
        loops = {
            edge: number for edge, number in bad.fanout.edges.items() if classes[edge[1]].kind == RegionKind.ITERATION
        }
        usual = {number: good.fanout.counts(edge).mean for edge, number in loops.items()}
        late = beyond(bad.trace, bad.fanout, below, bad.iterations, usual)
        return {edge: late[number] for edge, number in loops.items()}

    @cached_property
    def _events(self) -> tuple[dict[Edge, float], dict[Edge, float]]:
        """By edge: how many of the symptom's regions lie below it in the good runs; in the bad ones, below iterations
        up to the usual number."""
        good, bad = self.comparison.sides
        counted = [
            inclusive(side.trace.parent, (weight != 0).astype(np.float64))
            for side, weight in ((good, self.symptom.good), (bad, self.symptom.bad))
        ]
        before, after = (side.fanout.weights(below) for side, below in zip((good, bad), counted, strict=True))
        late = self._late(counted[1])
        return (
            {edge: float(before[number]) for edge, number in good.fanout.edges.items()},
            {edge: float(after[number]) - late.get(edge, 0.0) for edge, number in bad.fanout.edges.items()},
        )

    def depths(self) -> Int32s:
        """By class: the depth of the outermost region that leads to the symptom."""
        depth = np.full(len(self.comparison.catalogue.classes), np.iinfo(np.int32).max, np.int32)
        for side, weight in self._sides:
            leading = weight > 0
            np.minimum.at(depth, side.trace.label[leading], side.trace.depth[leading])
        return depth

    def passing(self) -> Floats:
        """By decision: how much of the symptom hangs on it, in a bad run; in a good one if it vanished."""
        good, bad = (_hanging(side, weight) for side, weight in self._sides)
        return np.minimum(np.where(bad > 0, bad, good), self.most)

    def forward(self, edge: Edge, weights: tuple[float, float], late: float) -> Forward | None:
        """`late`: the symptom in iterations beyond the usual number, which is the loop's doing if those before bring
        no more than they did: else there is something within them that changed."""
        comparison, polarity = self.comparison, self.symptom.polarity
        good, bad = comparison.good.fanout.counts(edge), comparison.bad.fanout.counts(edge)
        if not has_changed(good, bad, comparison.settings):
            return None
        parents = bad.events / comparison.bad.trace.runs
        was, now = self._yields(good, bad, weights)
        is_iteration = comparison.catalogue.classes[edge[1]].kind == RegionKind.ITERATION
        each = (now or was) if is_iteration else min(was or now, now or was)
        contribution = polarity * (bad.mean - good.mean) * parents * each
        if is_iteration and bad.mean > good.mean and not self._early_bring_more(edge, was, weights[1] - late):
            contribution = polarity * max(abs(contribution), late)
        contribution = max(-self.most, min(self.most, contribution))
        return way_out(comparison, Forward(edge, good, bad, contribution, self.symptom, parents))

    def origins(self, decision: int) -> tuple[Origins, Origins]:
        """Where the values tested on the way to the symptom came from; where tests are too few, in all tests: then
        lines only, as whose work led to other things than the symptom says nothing."""
        leading = [side.deciding.leading(decision, weight) for side, weight in self._sides]
        few = min(tests.groups for tests, _ in leading) < self.comparison.settings.few_events
        if few:
            leading = [side.deciding.all_of(decision) for side in self.comparison.sides]
        good, bad = (side.closures.origins(*tests) for side, tests in zip(self.comparison.sides, leading, strict=True))
        places = len(self.comparison.catalogue.places)
        return (good.first(places), bad.first(places)) if few else (good, bad)

    def backward(self, good: Origins, bad: Origins, passing: float) -> Iterator[Backward]:
        """Producers whose share changed. `passing`: how much of the symptom hangs on the decision."""
        settings = self.comparison.settings
        if not good.total_weight or not bad.total_weight:
            return
        direction = self.symptom.polarity * (1 if self.symptom.change >= 0 else -1)
        tests = good.total_groups, bad.total_groups
        good_share, bad_share = good.weight / good.total_weight, bad.weight / bad.total_weight
        for slot in np.flatnonzero(np.abs(good_share - bad_share) >= settings.means_apart).tolist():
            was, now = round(float(good_share[slot]), 9), round(float(bad_share[slot]), 9)
            if share_changed(was, now, *tests, settings):
                distance = float(bad.distance[slot] if bad.groups[slot] else good.distance[slot])
                producer, executions = _producer(self.comparison, slot)
                is_function = slot >= len(self.comparison.catalogue.places)
                contribution = passing * abs(now - was) * direction
                yield Backward(producer, is_function, was, now, tests, distance, contribution, self.symptom, executions)

    def _early_bring_more(self, edge: Edge, was: float, early: float) -> bool:
        """Whether iterations up to the usual number came to bring more, materially and beyond what as few events of the
        symptom as there may be differ by. `early`: what they bring now."""
        settings, good, bad = self.comparison.settings, *(side.fanout.counts(edge) for side in self.comparison.sides)
        times = float((bad.times * np.minimum(bad.value, int(good.mean + 1e-9))).sum())
        now = early * self.comparison.bad.trace.runs / times if times else 0.0
        events = [of_side.get(edge, 0.0) for of_side in self._events]
        if not was > 0 or min(events) <= 0:
            return False
        doubt = settings.deviations * float(np.sqrt(was**2 / events[0] + now**2 / events[1]))
        return now - was >= max(settings.means_apart * now, doubt)

    def _yields(self, good: Counts, bad: Counts, weights: tuple[float, float]) -> tuple[float, float]:
        """What a child brings of the symptom, in good and in bad runs; 0 where there is none.

        One more call or arm counts for the lesser of the two: what it brings more than it did is the doing of something
        within it, and would be counted twice. More iterations count for what they bring now: the second may well cost
        more than the first because it is the second.
        """
        was, now = (
            weight * side.trace.runs / counts.total if counts.total else 0.0
            for counts, weight, side in zip((good, bad), weights, self.comparison.sides, strict=True)
        )
        return was, now


def _key(comparison: RelationsComparison, label: int) -> _Key:
    decision = comparison.catalogue.classes[label].decision
    return (decision, NONE) if decision != NONE else (NONE, label)


def _hanging(side: TraceSide, weight: Floats) -> Floats:
    """By decision: the symptom's weight, per run."""
    classes = side.catalogue.classes
    per_class = np.bincount(side.trace.label, weights=weight * side.fanout.outermost, minlength=len(classes))
    hanging = np.zeros((2, len(side.catalogue.decisions)))
    for label, one in enumerate(classes):
        if one.decision != NONE:
            hanging[int(one.kind == RegionKind.ITERATION), one.decision] += per_class[label]
    # An arm that a loop's own test opens lies within an iteration: the same symptom, not more of it.
    per_run: Floats = hanging.max(axis=0) / side.trace.runs
    return per_run


def _steady(comparison: RelationsComparison, decision: int, good: Origins, bad: Origins) -> int:
    """The closest place that most values tested come from in both runs: where to look if only the value changed."""
    places = len(comparison.catalogue.places)
    site = comparison.catalogue.decisions[decision]
    own = int(comparison.catalogue.site_place[site]) if site >= 0 else NONE
    mostly = [
        slot
        for slot in np.flatnonzero(bad.weight[:places] > _MOSTLY * bad.total_weight).tolist()
        if good.weight[slot] > _MOSTLY * good.total_weight and slot != own
    ]
    return min(mostly, key=lambda slot: float(bad.distance[slot]), default=NONE)


def _producer(comparison: RelationsComparison, slot: int) -> tuple[int, tuple[float, float]]:
    places = len(comparison.catalogue.places)
    number = slot if slot < places else slot - places
    counts: tuple[Floats, Floats]
    if slot < places:
        counts = comparison.good.place_executed, comparison.bad.place_executed
    else:
        counts = comparison.good.called, comparison.bad.called
    return number, (float(counts[0][number]), float(counts[1][number]))


def way_out(comparison: RelationsComparison, relation: Forward) -> Forward:
    """The relation itself, or the one that stands behind it.

    A program that leaves by `exit` in one branch never reaches what comes after. That it does not call the rest is true
    but explains nothing; the first arm on its way out that the other run never takes does.
    """
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
