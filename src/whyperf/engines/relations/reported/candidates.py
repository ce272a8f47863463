"""From changed relations to candidates: decisions joined by source line, ranked by how much they explain (3.3.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from whyperf.engines.relations.changed_relations.reaching_decision import WayIn, way_in
from whyperf.engines.relations.changed_relations.refine import Explained, Refined
from whyperf.engines.relations.changed_relations.relation import Backward, Forward, Relation
from whyperf.engines.relations.changed_relations.sides import RelationsComparison
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.settings import RelationsSettings


@dataclass(frozen=True, eq=False)
class RelationCandidate:
    """A decision that explains part of the symptom's change, with the relations that say so."""

    branch: int  # decision of the catalogue; NONE for a call
    label: int  # class of the region that is there more or less often; NONE if only the producers changed
    place: int  # of the decision; NONE for a call from unwatched code
    share: float
    """Of the symptom's change. Counted half where only the origin of the tested values changed, not what came of the
    test: then the cause is likelier above."""
    symptom: RelationSymptom
    depth: int
    forward: Forward | None
    gaining: Backward | None
    """The nearest producer that is read more often and explains as much as the best."""
    losing: Backward | None
    losing_function: Backward | None
    cause: int
    """Place of the producer that is named as the cause's line; NONE where the decision itself is all there is."""
    explained: Explained | None
    """Why the cause is one, where it is the store read right before (rule 2)."""
    way_in: WayIn | None
    """The decision by which the runs part on their way to the cause."""
    origin: int
    """Place where the tested values come from in both runs: the value changed, not where it comes from."""
    effect_of: str = ""


@dataclass(frozen=True)
class SymptomChange:
    """How the symptom as a whole changed, per run."""

    good: float
    bad: float

    @property
    def amount(self) -> float:
        return self.bad - self.good

    def is_material(self, settings: RelationsSettings) -> bool:
        return abs(self.amount) >= settings.symptom_changed * max(abs(self.good), abs(self.bad)) > 0


def whole_change(symptoms: Sequence[RelationSymptom]) -> SymptomChange:
    given = [symptom for symptom in symptoms if not symptom.negation]
    return SymptomChange(
        sum(symptom.polarity * symptom.good_total for symptom in given),
        sum(symptom.polarity * symptom.bad_total for symptom in given),
    )


def most_explained(symptom: RelationSymptom, change: SymptomChange, settings: RelationsSettings) -> float:
    """What a relation can contribute to this symptom at most; 0 if the symptom did not change enough to matter."""
    if symptom.negation:
        # What prevents a symptom explains more of it by being executed less, and less of it by being executed more.
        helped = symptom.polarity * symptom.change * change.amount > 0
        material = SymptomChange(symptom.good_total, symptom.bad_total).is_material(settings)
        return abs(symptom.change) if helped and material else 0.0
    return abs(symptom.change) if abs(symptom.change) >= settings.least_contribution * abs(change.amount) else 0.0


def rank(
    comparison: RelationsComparison, refined: Sequence[Refined], change: SymptomChange, steady: Mapping[int, int]
) -> list[RelationCandidate]:
    """Best first; what explains too little is left out. Effects come only if nothing else is left."""
    settings, catalogue = comparison.settings, comparison.catalogue
    sense = 1.0 if change.amount >= 0 else -1.0
    groups: dict[Hashable, list[Refined]] = defaultdict(list)
    for one in refined:
        groups[_where(catalogue, one)].append(one)
    joined = [_join(comparison, group, change, sense) for group in groups.values()]
    worth = [
        replace(one, origin=steady.get(one.branch, NONE))
        for one in joined
        if one is not None and one.share >= settings.least_contribution
    ]
    causes = [one for one in worth if not one.effect_of]
    chosen = causes or worth[:1]
    chosen = _equal_where_close(chosen, settings)
    chosen.sort(key=lambda one: (-one.share, not _is_new(catalogue, one.cause), one.depth, one.place, one.label))
    return [_with_way_in(comparison, one) for one in chosen[: settings.candidates_max]]


def _equal_where_close(candidates: Sequence[RelationCandidate], settings: RelationsSettings) -> list[RelationCandidate]:
    """What differs by less than a step is equal, and is said to be."""
    step = max((one.share for one in candidates), default=1.0) / settings.rank_steps
    close: dict[int, list[float]] = defaultdict(list)
    for one in candidates:
        close[round(one.share / step)].append(one.share)
    return [replace(one, share=mean(close[round(one.share / step)])) for one in candidates]


def _with_way_in(comparison: RelationsComparison, candidate: RelationCandidate) -> RelationCandidate:
    """Where another function decides whether the cause's line is executed, its decision is the cause."""
    found = way_in(comparison, candidate.cause) if candidate.cause != NONE else None
    if found is None:
        return candidate
    return replace(candidate, way_in=found, cause=found.place if found.elsewhere else candidate.cause)


def _is_new(catalogue: Catalogue, place: int) -> bool:
    """What changed between two releases is looked for among the lines that are new."""
    return place != NONE and catalogue.places[place].only_in == "bad"


def _where(catalogue: Catalogue, refined: Refined) -> Hashable:
    """Decisions of one source line are one candidate, but effects are kept apart: they must not hide a cause."""
    decision = refined.decision
    if decision.branch == NONE:
        return "call", decision.called, bool(refined.effect_of)
    return "line", _place(catalogue, decision.branch), bool(refined.effect_of)


def _place(catalogue: Catalogue, branch: int) -> int:
    site = catalogue.decisions[branch]
    if site >= 0:
        return int(catalogue.site_place[site])
    return next((one.place for one in catalogue.classes if one.decision == branch), NONE)


def _join(
    comparison: RelationsComparison, group: Sequence[Refined], change: SymptomChange, sense: float
) -> RelationCandidate | None:
    catalogue, settings = comparison.catalogue, comparison.settings
    relations = [relation for one in group for relation in (one.decision.relations if one.effect_of else one.relations)]
    if not relations:
        return None

    def share(relation: Relation) -> float:
        return _share(relation, change, sense)

    outcome = _outcomes(relations, share)

    def explains(relation: Relation) -> float:
        return min(share(relation), outcome.get(relation.symptom, 1.0))

    best = max(relations, key=explains)
    forward = max((one for one in relations if isinstance(one, Forward)), key=share, default=None)
    if forward is not None and share(forward) < 0:
        return None  # what comes of the decision works against the symptom, wherever its values come from
    places = [one for one in relations if isinstance(one, Backward) and not one.is_function]
    functions = [one for one in relations if isinstance(one, Backward) and one.is_function]
    gaining = _nearest(catalogue, [one for one in places if one.bad > one.good], share, settings)
    losing = _nearest(catalogue, [one for one in places if one.bad < one.good], share, settings)
    first = group[0].decision
    named = gaining or losing
    place = catalogue.classes[first.called].place if first.branch == NONE else _place(catalogue, first.branch)
    explaining, explained = _explaining(comparison, group, place)
    return RelationCandidate(
        branch=first.branch,
        label=forward.edge[1] if forward is not None else NONE,
        place=place,
        share=explains(best) * (settings.only_origins if forward is None else 1.0),
        symptom=best.symptom,
        depth=min(one.decision.depth for one in group),
        forward=forward,
        gaining=gaining,
        losing=losing,
        losing_function=_nearest(catalogue, [one for one in functions if one.bad < one.good], share, settings),
        cause=named.producer if named is not None else explaining,
        way_in=None,
        explained=explained if named is None else None,
        origin=NONE,
        effect_of=group[0].effect_of,
    )


def _outcomes(relations: Sequence[Relation], share: Callable[[Relation], float]) -> dict[RelationSymptom, float]:
    """By symptom: what came of the line's decisions, if that changed. Wherever the values that are tested come from,
    they explain no more than the outcome does; a loop's entry and its end are tested on one line, by two branches."""
    found: dict[RelationSymptom, float] = {}
    for one in relations:
        if isinstance(one, Forward):
            found[one.symptom] = max(share(one), found.get(one.symptom, 0.0))
    return found


def _share(relation: Relation, change: SymptomChange, sense: float) -> float:
    """Of what is to be explained: for one of several updates of a variable, of the whole variable's change."""
    own = abs(relation.symptom.change)
    whole = own if relation.symptom.negation else max(own, abs(change.amount))
    return sense * relation.contribution / whole if whole else 0.0


def _nearest(
    catalogue: Catalogue, relations: Sequence[Backward], share: Callable[[Relation], float], settings: RelationsSettings
) -> Backward | None:
    """Of those that explain as much as the best: one on a line that only the bad build has, or the closest.

    None where all of them work against the symptom's change: it changed in spite of them.
    """
    best = max((share(one) for one in relations), default=0.0)
    if best <= 0:
        return None
    enough = settings.as_good_as_best * best

    def order(one: Backward) -> tuple[bool, float]:
        return one.is_function or not _is_new(catalogue, one.producer), one.distance

    return min((one for one in relations if share(one) >= enough), key=order)


def _explaining(
    comparison: RelationsComparison, group: Sequence[Refined], decided: int
) -> tuple[int, Explained | None]:
    """The place of the store that a branch's change follows from (rule 2), if it has a line.

    The call that led to it, where other callers lead to the same store, or where the store is the decision's own line
    (a counter that is counted down and tested): then it is not the store that changed.
    """
    catalogue = comparison.catalogue
    for one in group:
        for shift in one.explained:
            if shift.store is None:
                continue
            site, caller = shift.store
            by_others = any(
                side.executed[site] / side.trace.runs > side.stored(site, caller) for side in comparison.sides
            )
            own = _same_line(catalogue, int(catalogue.site_place[site]), decided)
            named = caller if (by_others or own) and caller != NONE else site
            if not catalogue.nameless[named]:
                return int(catalogue.site_place[named]), shift
    return NONE, None


def _same_line(catalogue: Catalogue, one: int, other: int) -> bool:
    """Whether two places are one in the source, inlined into different functions."""
    if NONE in (one, other):
        return False
    here, there = catalogue.places[one], catalogue.places[other]
    return (here.inlined, here.file, here.line) == (there.inlined, there.file, there.line)
