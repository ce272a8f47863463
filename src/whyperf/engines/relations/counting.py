"""What counting calls alone can say: relations between functions, from two sketches (Perspect, 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.arrays import Floats
from whyperf.engines.finding import Finding
from whyperf.engines.finding import Place as ShownPlace
from whyperf.engines.quantities import count, percent
from whyperf.engines.relations import ENGINE
from whyperf.engines.relations.changed_relations.changed import Counts, has_changed
from whyperf.engines.relations.changed_relations.symptoms import is_called, unknown_function
from whyperf.engines.relations.detail import CountingDetail
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.engines.relations.reported.candidates import SymptomChange
from whyperf.engines.relations.reported.findings import Relations, distribution
from whyperf.engines.relations.reported.sentences import on_average
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.sketch import Sketches, SketchSide, fanout_counts
from whyperf.recording.symptom import SymptomKind, SymptomSpec


@dataclass(frozen=True, eq=False)
class CountedRelation:
    """A relation that counting settles: so many calls per activation, or so much own work per call."""

    caller: int  # function; of own work the function itself
    site: int  # the call; NONE for own work, or when unknown
    called: int  # function; NONE for own work
    good: Counts | None
    bad: Counts | None
    good_mean: float
    bad_mean: float
    share: float
    node: int  # where in the tree it weighs most
    depth: int


def compare_sketches(sketches: Sketches, spec: SymptomSpec, settings: RelationsSettings) -> Relations:
    name, good, bad = symptom_weights(sketches, spec)
    change = SymptomChange(float(good.sum()) / sketches.good.runs, float(bad.sum()) / sketches.bad.runs)
    notes = list(sketches.notes)
    if spec.kind in (SymptomKind.VARIABLE, SymptomKind.LINE):
        notes.append(f"A sketch does not count {spec}: the executed instructions were compared.")
    if not change.is_material(settings):
        return Relations("sketch", name, change.good, change.bad, (), tuple(notes), 0)
    found, looked_at = _relations(sketches, good, bad, change, settings)
    findings = tuple(
        _finding(sketches, one, rank, name) for rank, one in enumerate(found[: settings.candidates_max], 1)
    )
    return Relations("sketch", name, change.good, change.bad, findings, tuple(notes), looked_at)


def changed_functions(sketches: Sketches, spec: SymptomSpec, settings: RelationsSettings) -> list[int]:
    """Functions between which a relation changed that explains part of the symptom, by how much."""
    _, good, bad = symptom_weights(sketches, spec)
    change = SymptomChange(float(good.sum()) / sketches.good.runs, float(bad.sum()) / sketches.bad.runs)
    found, _ = _relations(sketches, good, bad, change, settings) if change.amount else ([], 0)
    both = [function for one in found for function in (one.caller, one.called) if function != NONE]
    return list(dict.fromkeys(both))


def symptom_weights(sketches: Sketches, spec: SymptomSpec) -> tuple[str, Floats, Floats]:
    """What the symptom is called, and how much of it is in each node, over all runs of a side."""
    good, bad = sketches.sides
    if spec.kind is SymptomKind.MEMORY:
        return "bytes in use at the peak", good.live, bad.live
    if spec.kind in (SymptomKind.FUNCTION, SymptomKind.INSTRUCTIONS) and spec.name:
        names = [function.key.name for function in sketches.functions]
        wanted = [number for number, name in enumerate(names) if is_called(name, spec.name)]
        if not wanted:
            raise unknown_function(spec.name, names)
        here = np.isin(sketches.function, wanted)
        if spec.kind is SymptomKind.FUNCTION:
            return f"calls of {spec.name}", good.calls * here, bad.calls * here
        return f"instructions in {spec.name}", good.instructions * here, bad.instructions * here
    return "instructions", good.instructions, bad.instructions


def _relations(
    sketches: Sketches, good: Floats, bad: Floats, change: SymptomChange, settings: RelationsSettings
) -> tuple[list[CountedRelation], int]:
    calls, of_node = sketches.calls()
    below_good, below_bad = sketches.below(good), sketches.below(bad)
    outermost = sketches.outermost(of_node, len(calls))
    contexts = _contexts(sketches)
    nodes_of: dict[int, list[int]] = defaultdict(list)
    for node, number in enumerate(of_node.tolist()):
        nodes_of[number].append(node)
    found = []
    for number, (caller, site, called) in enumerate(calls):
        nodes = nodes_of[number]
        chosen = [node for node in nodes if outermost[node]]
        weights = float(below_good[chosen].sum()), float(below_bad[chosen].sum())
        if caller == NONE or not max(weights) > 0:
            continue
        was = fanout_counts(sketches.good, nodes, contexts[caller])
        now = fanout_counts(sketches.bad, nodes, contexts[caller])
        if not has_changed(was, now, settings):
            continue
        if _is_callers_doing(sketches, nodes, contexts[caller], settings):
            continue
        per_call = _ratio(weights[1], now.total) or _ratio(weights[0], was.total)
        grown = (now.mean - was.mean) * now.events / sketches.bad.runs * per_call
        heaviest = max(chosen, key=lambda node: float(below_bad[node] + below_good[node]))
        share = _part(grown, change)
        found.append(
            CountedRelation(
                caller, site, called, was, now, was.mean, now.mean, share, heaviest, len(sketches.path(heaviest)) - 1
            )
        )
    found += _own_work(sketches, good, bad, change, settings)
    best = max((one.share for one in found), default=0.0) or 1.0
    found.sort(key=lambda one: (-round(settings.rank_steps * one.share / best), one.depth, one.caller, one.site))
    return [one for one in found if one.share >= settings.least_contribution], len(calls)


def _own_work(
    sketches: Sketches, good: Floats, bad: Floats, change: SymptomChange, settings: RelationsSettings
) -> list[CountedRelation]:
    """Functions that do more per call without calling anything: a loop of their own, which a zoom would show."""
    found = []
    for function, nodes in _contexts(sketches).items():
        calls = float(sketches.good.calls[nodes].sum()), float(sketches.bad.calls[nodes].sum())
        if not min(calls):
            continue
        was, now = float(good[nodes].sum()) / calls[0], float(bad[nodes].sum()) / calls[1]
        if abs(now - was) < settings.means_apart * max(was, now):
            continue
        expected = sum(
            float(sketches.bad.calls[node]) / calls[1] * _own_rate(sketches, good, bad, node) for node in nodes
        )
        if now != was and (expected - was) / (now - was) >= settings.explained_by_producers and len(nodes) > 1:
            continue
        heaviest = max(nodes, key=lambda node: float(bad[node] + good[node]))
        share = _part((now - was) * calls[1] / sketches.bad.runs, change)
        depth = len(sketches.path(heaviest))
        found.append(CountedRelation(function, NONE, NONE, None, None, was, now, share, heaviest, depth))
    return found


def _own_rate(sketches: Sketches, good: Floats, bad: Floats, node: int) -> float:
    if sketches.good.calls[node]:
        return float(good[node]) / float(sketches.good.calls[node])
    return _ratio(float(bad[node]), float(sketches.bad.calls[node]))


def _is_callers_doing(
    sketches: Sketches, nodes: Sequence[int], contexts: Sequence[int], settings: RelationsSettings
) -> bool:
    """Whether the calls per activation stayed what they were in each context, and only the contexts' mix changed."""
    if len(contexts) < 2:
        return False
    callee = {int(sketches.parent[node]): node for node in nodes}

    def rate(side: SketchSide, context: int) -> float:
        node = callee.get(context)
        return _ratio(float(side.calls[node]), float(side.calls[context])) if node is not None else 0.0

    def mean(side: SketchSide, rate_of: SketchSide) -> float:
        total = float(side.calls[list(contexts)].sum())
        rates = (rate(rate_of if rate_of.calls[one] else side, one) for one in contexts)
        return sum(float(side.calls[one]) / total * at for one, at in zip(contexts, rates, strict=True))

    was, now = mean(sketches.good, sketches.good), mean(sketches.bad, sketches.bad)
    expected = mean(sketches.bad, sketches.good)
    return now != was and (expected - was) / (now - was) >= settings.explained_by_producers


def _contexts(sketches: Sketches) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for node, function in enumerate(sketches.function.tolist()):
        found[function].append(node)
    return found


def _finding(sketches: Sketches, one: CountedRelation, rank: int, symptom: str) -> Finding:
    caller = sketches.functions[one.caller]
    path = tuple(sketches.functions[number].key.name for number in sketches.path(one.node) if number != NONE)
    return Finding(
        engine=ENGINE,
        function=caller.key,
        place=_place(sketches, one),
        rank=rank,
        score=min(1.0, one.share),
        share=min(1.0, one.share),
        path=path if one.called == NONE else path[:-1],
        pattern="new-path" if one.good is not None and one.good_mean == 0 else "unknown",
        why=f"{_sentence(sketches, one)} ({percent(min(1.0, one.share))} of the extra {symptom}).",
        detail=CountingDetail(
            calls=None if one.called == NONE else sketches.functions[one.called].key.name,
            good_mean=one.good_mean,
            bad_mean=one.bad_mean,
            good=None if one.good is None else distribution(one.good),
            bad=None if one.bad is None else distribution(one.bad),
        ),
    )


def _place(sketches: Sketches, one: CountedRelation) -> ShownPlace:
    if one.site != NONE:
        at = sketches.places[sketches.site_place[one.site]]
        return ShownPlace(at.file, at.line)
    function = sketches.functions[one.caller]
    return ShownPlace(function.file, function.line)


def _sentence(sketches: Sketches, one: CountedRelation) -> str:
    caller = sketches.functions[one.caller].key.name
    if one.good is None or one.bad is None:
        return (
            f"{caller}() itself executes {count(round(one.good_mean))} instructions per call, "
            f"now {count(round(one.bad_mean))}"
        )
    called = sketches.functions[one.called].key.name
    at = _place(sketches, one)
    line = f" ({PurePosixPath(at.file).name}:{at.line})" if one.site != NONE and at.line > 0 else ""
    return f"{caller}() calls {called}{line} {on_average(one.good)}, now {on_average(one.bad)}"


def _part(grown: float, change: SymptomChange) -> float:
    return min(1.0, grown / change.amount) if change.amount else 0.0


def _ratio(value: float, total: float) -> float:
    return value / total if total else 0.0
