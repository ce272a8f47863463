"""From candidates to findings: what `diagnose` weighs and reports show."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.finding import Finding, HotLine, Place
from whyperf.engines.relations import ENGINE
from whyperf.engines.relations.changed_relations.changed import Counts
from whyperf.engines.relations.changed_relations.relation import Backward, EdgeChange, Forward
from whyperf.engines.relations.changed_relations.sides import RelationsComparison
from whyperf.engines.relations.detail import (
    ChangedCount,
    Distribution,
    ForwardChange,
    RelationsDetail,
    ShownProducer,
    ShownSource,
    SymptomTotals,
)
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.reported.candidates import RelationCandidate
from whyperf.engines.relations.reported.graph import graph, way_down
from whyperf.engines.relations.reported.sentences import forward_words, sentence, where
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.deep_tables import RegionKind


@dataclass(frozen=True)
class Relations:
    """What two deep recordings say."""

    phase: str  # sketch or zoom
    symptom: str  # in words: "calls of evict"
    good: float  # how much of it, per run
    bad: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    looked_at: int  # relations


def finding(comparison: RelationsComparison, candidate: RelationCandidate, rank: int) -> Finding:
    catalogue = comparison.catalogue
    way = way_down(comparison, candidate)
    shown = candidate.place
    return Finding(
        engine=ENGINE,
        function=_function(catalogue, candidate),
        place=_place(catalogue, shown),
        rank=rank,
        score=min(1.0, candidate.share),
        share=min(1.0, candidate.share),
        path=_path(catalogue, way, candidate),
        pattern=_pattern(catalogue, candidate),
        why=sentence(catalogue, candidate),
        lines=_lines(catalogue, candidate),
        detail=_detail(comparison, candidate),
    )


def _function(catalogue: Catalogue, candidate: RelationCandidate) -> FunctionKey:
    if candidate.branch == NONE and candidate.forward is not None:  # a call: whoever calls decides
        caller = catalogue.classes[candidate.forward.edge[0]].function
        if caller != NONE:
            return catalogue.functions[caller].key
    return catalogue.functions[catalogue.places[candidate.place].inlined].key


def _place(catalogue: Catalogue, place: int) -> Place:
    if place == NONE:
        return Place("", 0)
    at = catalogue.places[place]
    return Place(at.file, at.line)


def _lines(catalogue: Catalogue, candidate: RelationCandidate) -> tuple[HotLine, ...]:
    if NONE in (candidate.place, candidate.cause):
        return ()
    decision, cause = catalogue.places[candidate.place], catalogue.places[candidate.cause]
    if cause.file != decision.file or cause.line == decision.line:
        return ()
    return tuple(HotLine(line, candidate.share) for line in sorted({decision.line, cause.line}))


def _path(catalogue: Catalogue, way: list[int], candidate: RelationCandidate) -> tuple[str, ...]:
    names = []
    for label in way:
        one = catalogue.classes[label]
        if one.kind == RegionKind.ACTIVATION:
            names.append(catalogue.name(one.function))
        if one.decision == candidate.branch != NONE or label == candidate.label:
            break
    return tuple(names)


def _pattern(catalogue: Catalogue, candidate: RelationCandidate) -> str:
    forward = candidate.forward
    if forward is None:
        return "unknown"
    if forward.good.mean == 0:
        return "new-path"
    is_loop = catalogue.classes[forward.edge[1]].kind == RegionKind.ITERATION
    return "scalability" if is_loop and forward.bad.mean > forward.good.mean else "unknown"


def _detail(comparison: RelationsComparison, candidate: RelationCandidate) -> RelationsDetail:
    catalogue, symptom = comparison.catalogue, candidate.symptom
    producers = (candidate.gaining, candidate.losing, candidate.losing_function)
    return RelationsDetail(
        symptom=SymptomTotals(symptom.name, symptom.good_total, symptom.bad_total, symptom.negation),
        decision=where(catalogue, candidate.place),
        inlined=catalogue.header_function(candidate.branch) or None,
        cause=_source(catalogue, candidate.cause),
        origin=_source(catalogue, candidate.origin),
        forward=_forward(catalogue, candidate.forward),
        way_in=None if candidate.way_in is None else ChangedCount(*_change(catalogue, candidate.way_in.change)),
        backward=tuple(_producer(catalogue, one) for one in producers if one is not None),
        effect_of=candidate.effect_of,
        graph=graph(comparison, candidate),
    )


def _source(catalogue: Catalogue, place: int) -> ShownSource | None:
    if place == NONE:
        return None
    at = catalogue.places[place]
    return ShownSource(catalogue.name(at.inlined), at.file, at.line, at.only_in == "bad")


def _change(catalogue: Catalogue, relation: EdgeChange) -> tuple[str, Distribution, Distribution]:
    return forward_words(catalogue, relation), distribution(relation.good), distribution(relation.bad)


def _forward(catalogue: Catalogue, relation: Forward | None) -> ForwardChange | None:
    return None if relation is None else ForwardChange(*_change(catalogue, relation), relation.left_early)


def _producer(catalogue: Catalogue, relation: Backward) -> ShownProducer:
    if relation.is_function:
        function = catalogue.functions[relation.producer]
        name, file, line = function.key.name, function.file, function.line
    else:
        place = catalogue.places[relation.producer]
        name, file, line = catalogue.name(place.inlined), place.file, place.line
    return ShownProducer(
        producer=name,
        file=file,
        line=line,
        whole_function=relation.is_function,
        good=relation.good,
        bad=relation.bad,
        tests=tuple(relation.tests),
        executions=tuple(relation.executions),
    )


def distribution(counts: Counts) -> Distribution:
    return Distribution(counts.events, counts.mean, tuple(counts.quantiles((0, 0.25, 0.5, 0.75, 1))))
