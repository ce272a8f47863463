"""Rule 2: a relation that changed because another one did is an effect, not a cause (Perspect, 3.3.3).

Rule 1 needs no code: relations are edges of a tree, and an edge that did not change is not a candidate.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.engines.relations.catalogue import NONE
from whyperf.engines.relations.comparing import Comparison, Side
from whyperf.engines.relations.relation import Backward, Decision, Forward, Relation
from whyperf.engines.relations.symptoms import Symptom
from whyperf.recording.deep_tables import RegionKind, SiteKind

_LOOPS_LOOKED_AT = 100
_EVENTS_LOOKED_AT = 20
_Stores = frozenset[int]


@dataclass(frozen=True)
class Explained:
    """A branch whose change follows from where the values that it tests came from."""

    share: float  # of the arm's change
    gained: _Stores  # sites of the stores that are read more often now
    lost: _Stores


@dataclass(frozen=True, eq=False)
class Refined:
    decision: Decision
    relations: tuple[Relation, ...]  # those that are not effects
    explained: tuple[Explained, ...] = ()
    effect_of: str = ""
    """Why the decision is no cause; empty if it may be one."""


def refine(comparison: Comparison, decisions: list[Decision], symptoms: list[Symptom]) -> list[Refined]:
    family = frozenset(site for symptom in symptoms for site in symptom.family)
    symptom_classes = _classes_of(comparison, family)
    refined = [_judged(comparison, decision, family, symptom_classes) for decision in decisions]
    effects = {one.decision.branch for one in refined if one.effect_of and one.decision.branch != NONE}
    return [one if one.effect_of else _without_effects(comparison, one, effects) for one in refined]


def _judged(
    comparison: Comparison, decision: Decision, family: frozenset[int], symptom_classes: frozenset[int]
) -> Refined:
    explained = []
    for relation in decision.forward:
        kind = comparison.catalogue.classes[relation.edge[1]].kind
        if kind == RegionKind.ARM:
            shift = explained_by_producers(comparison, decision.branch, relation.edge[1])
            if shift is None or shift.share < comparison.settings.explained_by_producers:
                continue
            explained.append(shift)
            if (shift.gained | shift.lost) & family:
                return Refined(decision, (), tuple(explained), "what the symptom itself stored decides here")
        elif kind == RegionKind.ITERATION and min(relation.good.mean, relation.bad.mean) > 0:
            followed = followed_by_loop(comparison, relation)
            if any(site in family or arm in symptom_classes for site, arm in followed):
                return Refined(decision, (), (), "the symptom itself keeps the loop running")
    return Refined(decision, decision.relations, tuple(explained))


def _without_effects(comparison: Comparison, refined: Refined, effects: set[int]) -> Refined:
    """Producers that run only as an effect explain nothing; a branch that only they explain is an effect too."""
    decision = refined.decision
    for shift in refined.explained:
        if any(_controls(comparison, sites=[site]) & effects for site in shift.gained):
            return Refined(decision, (), refined.explained, "what decides here is itself an effect")
    kept: list[Relation] = []
    spoiled: list[Backward] = []
    for relation in decision.relations:
        if isinstance(relation, Backward) and not relation.is_function:
            sites = np.flatnonzero(comparison.catalogue.site_place == relation.producer).tolist()
            if _controls(comparison, sites) & effects:
                spoiled.append(relation)
                continue
        kept.append(relation)
    gaining = [one for one in decision.backward if not one.is_function and one.bad > one.good]
    if gaining and min(gaining, key=lambda one: one.distance) in spoiled:
        kept = [one for one in kept if isinstance(one, Forward)]
    if all(isinstance(one, Backward) and one.is_function for one in kept):
        return Refined(
            decision, (), refined.explained, "what decides here is itself an effect" if spoiled else "unsure"
        )
    return Refined(decision, tuple(kept), refined.explained)


def explained_by_producers(comparison: Comparison, branch: int, arm: int) -> Explained | None:
    """If the arm were taken as often after each store as in the good runs, how much of its change would remain?"""
    tables: list[dict[_Stores, list[int]]] = []
    for side in comparison.sides:
        tests = side.deciding.executions(branch)
        table: dict[_Stores, list[int]] = defaultdict(lambda: [0, 0])
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
    shift = {one: bad.get(one, [0])[0] / bad_tests - good.get(one, [0])[0] / good_tests for one in both}
    gained, lost = max(both, key=lambda one: shift[one]), min(both, key=lambda one: shift[one])
    return Explained((expected - was) / (now - was), gained, lost)


def followed_by_loop(comparison: Comparison, relation: Forward) -> list[tuple[int, int]]:
    """Conditional events inside the loop that feed its test and grow like its trip count: their sites and arms."""
    loop, _ = relation.edge
    growth = relation.bad.mean / relation.good.mean
    per_loop: list[dict[int, float]] = []
    arms: dict[int, int] = {}
    for side in comparison.sides:
        instances = np.flatnonzero(side.trace.label == loop)
        feeding = {site for region in instances[:_LOOPS_LOOKED_AT].tolist() for site in _feeding(side, region, arms)}
        per_loop.append({site: float(side.executed[site]) / max(len(instances), 1) for site in feeding})
    good, bad = per_loop
    limit = comparison.settings.grows_alike
    return [
        (site, arms[site])
        for site in sorted(good.keys() & bad.keys())
        if good[site] > 0 and 1 / limit <= bad[site] / good[site] / growth <= limit
    ]


def _feeding(side: Side, loop: int, arms: dict[int, int]) -> set[int]:
    """Sites of conditional events within one loop's region that its last tests depend on."""
    trace = side.trace
    start, order = trace.children
    last = order[start[loop] : start[loop + 1]][-2:]
    tests = {int(trace.opener[region]) for region in last} | {int(trace.last[loop])}
    found = set()
    for test in tests:
        if test < 0 or side.catalogue.site_kind[trace.site[test]] != SiteKind.BRANCH:
            continue
        for event in side.closures.producers(test):
            region = int(trace.region[event])
            if region >= 0 and side.kind[region] == RegionKind.ARM and _is_within(side, region, loop):
                found.add(int(trace.site[event]))
                arms[int(trace.site[event])] = int(trace.label[region])
    return found


def _is_within(side: Side, region: int, outer: int) -> bool:
    while region > outer:
        region = int(side.trace.parent[region])
    return region == outer


def _controls(comparison: Comparison, sites: list[int]) -> set[int]:
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


def _classes_of(comparison: Comparison, sites: frozenset[int]) -> frozenset[int]:
    return frozenset(
        int(side.trace.label[side.trace.region[event]])
        for side in comparison.sides
        for site in sites
        for event in side.first_executions([site], _EVENTS_LOOKED_AT)
        if side.trace.region[event] >= 0
    )
