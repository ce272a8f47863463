"""Relations in plain words."""

from __future__ import annotations

from pathlib import PurePosixPath

from whyperf.engines.quantities import count, percent
from whyperf.engines.relations.changed_relations.changed import Counts
from whyperf.engines.relations.changed_relations.relation import Backward, EdgeChange
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.reported.candidates import RelationCandidate
from whyperf.recording.schemas.deep_tables import RegionKind


def times(value: float) -> str:
    """How often something happens."""
    if value == 0:
        return "never"
    if value == 1:
        return "once"
    if value == 2:
        return "twice"
    return f"{count(value)} times"


def on_average(counts: Counts) -> str:
    return times(counts.mean) if len(counts.value) == 1 else f"{times(counts.mean)} on average"


def where(catalogue: Catalogue, place: int) -> str:
    """`insert (tree.c:41)`."""
    if place == NONE:
        return "unwatched code"
    at = catalogue.places[place]
    name = catalogue.name(at.inlined)
    return f"{name} ({PurePosixPath(at.file).name}:{at.line})" if at.line > 0 else name


def sentence(catalogue: Catalogue, candidate: RelationCandidate) -> str:
    parts = []
    if candidate.forward is not None:
        parts.append(forward_words(catalogue, candidate.forward))
    producers = _producers(catalogue, candidate)
    if producers:
        tested = "the value tested there" if parts else f"the value tested at {where(catalogue, candidate.place)}"
        parts.append(f"{tested} came {producers}")
    elif candidate.explained is not None:
        shares = f"in {percent(candidate.explained.was)} of cases, now in {percent(candidate.explained.now)}"
        parts.append(f"what is tested there was stored last from {where(catalogue, candidate.cause)} {shares}")
    elif candidate.origin != NONE:
        parts.append(f"what is tested there comes from {where(catalogue, candidate.origin)}")
    if candidate.way_in is not None and candidate.way_in.elsewhere:
        parts.append(f"on the way there the runs part: {forward_words(catalogue, candidate.way_in.change)}")
    said = "; ".join(parts) or f"The decision at {where(catalogue, candidate.place)} changed"
    if said.startswith(("the ", "what ")):  # and not a function's name
        said = said[0].upper() + said[1:]
    return f"{said} ({explains(candidate)})."


def explains(candidate: RelationCandidate) -> str:
    symptom = candidate.symptom
    more = "extra" if symptom.change >= 0 else "missing"
    return f"{percent(min(candidate.share, 1.0))} of the {more} {symptom.name}"


def forward_words(catalogue: Catalogue, relation: EdgeChange) -> str:
    child = catalogue.classes[relation.edge[1]]
    if child.kind == RegionKind.ITERATION:
        return (
            f"the loop{_inlined(catalogue, child.decision)} at {where(catalogue, child.place)} runs {_trips(relation)}"
        )
    if child.kind == RegionKind.ARM:
        return _arm(catalogue, relation)
    return f"{_parent(catalogue, relation.edge[0])} calls {_name(catalogue, child.function)} {_trips(relation)}"


def backward_words(catalogue: Catalogue, relation: Backward) -> str:
    if relation.is_function:
        from_where = f"work of {catalogue.name(relation.producer)}"
    else:
        from_where = where(catalogue, relation.producer)
    return f"from {from_where} in {percent(relation.good)} of cases, now in {percent(relation.bad)}"


def _producers(catalogue: Catalogue, candidate: RelationCandidate) -> str:
    shown = [one for one in (candidate.gaining, candidate.losing) if one is not None]
    if candidate.gaining is None and candidate.losing_function is not None:
        shown = [candidate.losing_function]
    return " and ".join(backward_words(catalogue, one) for one in shown)


def _trips(relation: EdgeChange) -> str:
    return f"{on_average(relation.good)}, now {on_average(relation.bad)}"


def _arm(catalogue: Catalogue, relation: EdgeChange) -> str:
    arm = catalogue.classes[relation.edge[1]]
    to = f" to line {catalogue.places[arm.target].line}" if arm.target != NONE else ""
    branch = f"the branch{_inlined(catalogue, arm.decision)} at {where(catalogue, arm.place)}"
    if max(relation.good.mean, relation.bad.mean) <= 1:
        share = f"in {percent(relation.good.mean)} of cases, now in {percent(relation.bad.mean)}"
        return f"{branch} goes{to} {share}"
    return f"{branch} goes{to} {_trips(relation)} per {_instance(catalogue, relation.edge[0])}"


def _inlined(catalogue: Catalogue, decision: int) -> str:
    """Whose code it is, where a library's is inlined in the program's."""
    function = catalogue.header_function(decision)
    return f" of {function}, inlined" if function else ""


def _instance(catalogue: Catalogue, label: int) -> str:
    kind = catalogue.classes[label].kind
    names = {RegionKind.ITERATION: "iteration", RegionKind.LOOP: "loop", RegionKind.ARM: "pass"}
    return names.get(kind, "call")


def _parent(catalogue: Catalogue, label: int) -> str:
    one = catalogue.classes[label]
    if one.function == NONE:
        return "the thread"
    name = _name(catalogue, one.function)
    if one.kind == RegionKind.ACTIVATION:
        return name
    return f"{name}, each time at line {catalogue.places[one.place].line},"


def _name(catalogue: Catalogue, function: int) -> str:
    return f"{catalogue.name(function)}()"
