"""Rule 2: a relation that changed because another one did is an effect, not a cause (Perspect, 3.3.3).

Rule 1 needs no code: relations are edges of a tree, and an edge that did not change is not a candidate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Floats
from whyperf.engines.relations.changed_relations.closure import Store, Stores
from whyperf.engines.relations.changed_relations.relation import Backward, BranchDecision, Forward, Relation
from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.engines.relations.executions.tree_passes import nearest_above
from whyperf.recording.schemas.deep_tables import RegionKind, SiteKind

_LOOPS_LOOKED_AT = 100
_EVENTS_LOOKED_AT = 20


@dataclass(frozen=True)
class Explained:
    """A branch whose change follows, at least in part, from who stored last what it tests."""

    share: float  # of the arm's change
    gained: Stores  # what is read more often now
    lost: Stores
    store: Store | None  # of these the one that is executed more, or less, than before
    was: float  # in which share of the tests it was read
    now: float


@dataclass(frozen=True, eq=False)
class Refined:
    decision: BranchDecision
    relations: tuple[Relation, ...]  # those that are not effects
    explained: tuple[Explained, ...] = ()
    effect_of: str = ""
    """Why the decision is no cause; empty if it may be one."""


def refine(
    comparison: RelationsComparison, decisions: list[BranchDecision], symptoms: list[RelationSymptom]
) -> list[Refined]:
    symptom_classes = frozenset(label for symptom in symptoms for label in _classes_of(comparison, symptom))
    refined = [_judged(comparison, decision, symptoms, symptom_classes) for decision in decisions]
    effects = {one.decision.branch for one in refined if one.effect_of and one.decision.branch != NONE}
    return [one if one.effect_of else _without_effects(comparison, one, effects) for one in refined]


def _judged(
    comparison: RelationsComparison,
    decision: BranchDecision,
    symptoms: list[RelationSymptom],
    symptom_classes: frozenset[int],
) -> Refined:
    if only_another_way(comparison, decision):
        return Refined(decision, (), (), "both ways lead to the same")
    explained = []
    for relation in decision.forward:
        kind = comparison.catalogue.classes[relation.edge[1]].kind
        if kind == RegionKind.ARM:
            shift = explained_by_producers(comparison, decision.branch, relation.edge[1])
            if shift is None or shift.share < comparison.settings.means_apart:
                continue
            explained.append(shift)
            decides = shift.share >= comparison.settings.explained_by_producers
            if decides and any(
                symptom.is_stored_by(store) for symptom in symptoms for store in shift.gained | shift.lost
            ):
                return Refined(decision, (), tuple(explained), "what the symptom itself stored decides here")
        elif kind == RegionKind.ITERATION and followed_by_loop(comparison, relation) & symptom_classes:
            return Refined(decision, (), (), "the symptom itself keeps the loop running")
    return Refined(decision, decision.relations, tuple(explained))


def _without_effects(comparison: RelationsComparison, refined: Refined, effects: set[int]) -> Refined:
    """Producers that run only as an effect explain nothing; a branch that only they explain is an effect too."""
    decision = refined.decision
    for shift in refined.explained:
        decides = shift.share >= comparison.settings.explained_by_producers
        if decides and any(_controls(comparison, [site]) & effects for site, _ in shift.gained):
            return Refined(decision, (), refined.explained, "what decides here is itself an effect")
    kept: list[Relation] = []
    spoiled: list[Backward] = []
    for relation in decision.relations:
        if isinstance(relation, Backward) and not relation.is_function:
            sites = np.flatnonzero(comparison.catalogue.site_place == relation.producer).tolist() if effects else []
            if _controls(comparison, sites) & effects:
                spoiled.append(relation)
                continue
        kept.append(relation)
    gaining = [one for one in decision.backward if not one.is_function and one.bad > one.good]
    if gaining and min(gaining, key=lambda one: one.distance) in spoiled:
        kept = [one for one in kept if isinstance(one, Forward)]
    if all(isinstance(one, Backward) and one.is_function for one in kept):
        return Refined(decision, (), refined.explained, "no line's part in what is tested here changed")
    return Refined(decision, tuple(kept), refined.explained)


def explained_by_producers(comparison: RelationsComparison, branch: int, arm: int) -> Explained | None:
    """If the arm were taken as often after each store as in the good runs, how much of its change would remain?"""
    tables: list[dict[Stores, list[int]]] = []
    for side in comparison.sides:
        tests = side.deciding.executions(branch)
        table: dict[Stores, list[int]] = defaultdict(lambda: [0, 0])
        taken = side.deciding.arms(tests) == arm
        for stores, took in zip(side.closures.first_hop(tests), taken.tolist(), strict=True):
            table[stores][0] += 1
            table[stores][1] += took
        tables.append(table)
    good, bad = tables
    good_tests, bad_tests = (sum(times for times, _ in table.values()) for table in tables)
    if not good_tests or not bad_tests:
        return None
    was = sum(took for _, took in good.values()) / good_tests
    now = sum(took for _, took in bad.values()) / bad_tests
    if abs(now - was) < 1e-9:
        return None
    expected = 0.0
    for stores, (times, took) in bad.items():
        rate = good[stores][1] / good[stores][0] if stores in good else took / times
        expected += times / bad_tests * rate
    both = sorted(good.keys() | bad.keys(), key=sorted)
    share = {one: (good.get(one, [0])[0] / good_tests, bad.get(one, [0])[0] / bad_tests) for one in both}
    gained = max(both, key=lambda one: share[one][1] - share[one][0])
    lost = min(both, key=lambda one: share[one][1] - share[one][0])
    store, whose = _executed_otherwise(comparison, gained, lost)
    return Explained((expected - was) / (now - was), gained, lost, store, *share[whose])


def _executed_otherwise(comparison: RelationsComparison, gained: Stores, lost: Stores) -> tuple[Store | None, Stores]:
    """Of the stores that are read more or less often, the one whose own number of executions changed most that way."""
    grown: dict[Store, tuple[float, Stores]] = {}
    for stores, sense in ((gained, 1.0), (lost, -1.0)):
        for store in stores:
            was, now = (side.stored(*store) for side in comparison.sides)
            grown[store] = sense * (now - was) / max(was, now, 1.0), stores
    best = max(grown, key=lambda store: grown[store][0], default=None)
    if best is None or grown[best][0] < comparison.settings.means_apart:
        return min(gained, default=None), gained
    return best, grown[best][1]


def followed_by_loop(comparison: RelationsComparison, relation: Forward) -> set[int]:
    """Classes of the arms around conditional events inside the loop that feed its test and grow like its trips."""
    if not min(relation.good.mean, relation.bad.mean) > 0:
        return set()
    loop, _ = relation.edge
    growth = relation.bad.mean / relation.good.mean
    per_loop: list[dict[int, float]] = []
    arms: dict[int, set[int]] = defaultdict(set)
    for side in comparison.sides:
        instances = np.flatnonzero(side.trace.label == loop)
        for region in instances[:_LOOPS_LOOKED_AT].tolist():
            for site, labels in _feeding(side, region):
                arms[site] |= labels
        per_loop.append({site: float(side.executed[site]) / max(len(instances), 1) for site in arms})
    good, bad = per_loop
    limit = comparison.settings.grows_alike
    alike = [
        site
        for site in good.keys() & bad.keys()
        if min(good[site], bad[site]) > 0 and 1 / limit <= bad[site] / good[site] / growth <= limit
    ]
    return {label for site in alike for label in arms[site]}


def _feeding(side: TraceSide, loop: int) -> Iterator[tuple[int, set[int]]]:
    """Conditional events within one loop's region that its last tests depend on: their sites, the arms around them."""
    trace = side.trace
    start, order = trace.children
    last = order[start[loop] : start[loop + 1]][-2:]
    tests = {int(trace.opener[region]) for region in last} | {int(trace.last[loop])}
    for test in sorted(tests):
        if test < 0 or side.catalogue.site_kind[trace.site[test]] != SiteKind.BRANCH:
            continue
        for event in side.closures.producers(test):
            labels, region = set(), int(trace.region[event])
            while region > loop:
                if side.kind[region] == RegionKind.ARM:
                    labels.add(int(trace.label[region]))
                region = int(trace.parent[region])
            if region == loop and labels:
                yield int(trace.site[event]), labels


def only_another_way(comparison: RelationsComparison, decision: BranchDecision) -> bool:
    """Whether the arms only lead to the symptom in the same code, by another way: then it is what lies there that
    changed. An arm was left for another, and below both the symptom is in the same classes of regions."""
    arms = [one for one in decision.forward if comparison.catalogue.classes[one.edge[1]].kind == RegionKind.ARM]
    for lost in (one for one in arms if one.bad.mean < one.good.mean):
        for won in (one for one in arms if one.bad.mean > one.good.mean and one.symptom is lost.symptom):
            before = _symptom_by_class(comparison.good, lost.edge[1], lost.symptom.good)
            after = _symptom_by_class(comparison.bad, won.edge[1], won.symptom.bad)
            if float(np.minimum(before, after).sum()) >= comparison.settings.same_code:
                return True
    return False


def _symptom_by_class(side: TraceSide, arm: int, weight: Floats) -> Floats:
    """Of the symptom below an arm: which share is in which class of regions."""
    below = nearest_above(side.trace.parent, side.trace.label == arm) >= 0
    share = np.bincount(
        side.trace.label[below], weights=np.maximum(weight[below], 0.0), minlength=len(side.catalogue.classes)
    )
    return share / max(float(share.sum()), np.finfo(np.float64).tiny)


def _controls(comparison: RelationsComparison, sites: list[int]) -> set[int]:
    """Decisions whose arms the first executions of these sites lay in."""
    found = set()
    for side in comparison.sides:
        for event in side.first_executions(sites, _EVENTS_LOOKED_AT):
            region = int(side.trace.region[event])
            while region >= 0 and side.kind[region] not in (RegionKind.ARM, RegionKind.ACTIVATION):
                region = int(side.trace.parent[region])
            if region >= 0 and side.kind[region] == RegionKind.ARM:
                found.add(side.catalogue.classes[int(side.trace.label[region])].decision)
    return found


def _classes_of(comparison: RelationsComparison, symptom: RelationSymptom) -> set[int]:
    """Classes of the regions that the symptom is in; for setters, also of those that they are called from."""
    found: set[int] = set()
    if not symptom.family:
        return found
    for side, weight in ((comparison.good, symptom.good), (comparison.bad, symptom.bad)):
        for region in np.flatnonzero(weight)[:_EVENTS_LOOKED_AT].tolist():
            found.add(int(side.trace.label[region]))
            opener = int(side.trace.opener[region])
            if side.kind[region] == RegionKind.ACTIVATION and opener >= 0:
                found.add(int(side.trace.label[side.trace.region[opener]]))
    return found
