"""Negation symptoms: what prevents the symptom (Perspect, 3.1), found among the values that its branches test.

Where the symptom's arm is hardly ever taken after a value stored at some place, executing that place prevents the
symptom: marking an object prevents its being freed.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from whyperf.engines.relations.changed_relations.closure import Store
from whyperf.engines.relations.changed_relations.sides import RelationsComparison, TraceSide
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom, preventing
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.executions.loading import Zoomed
from whyperf.recording.schemas.deep_tables import RegionKind

_SYMPTOMS_LOOKED_AT = 200


def negations(
    zoomed: Zoomed, comparison: RelationsComparison, symptoms: list[RelationSymptom]
) -> list[RelationSymptom]:
    found: dict[Store, RelationSymptom] = {}
    family = comparison.bad.family
    for symptom in symptoms:
        if not symptom.family:
            continue  # every executed instruction: nothing prevents all of them
        for store in _preventing(comparison, symptom):
            if store[0] not in family and store not in found:
                name = f"executions of {_where(comparison.catalogue, store)}"
                found[store] = preventing(zoomed, store, name, -symptom.polarity)
    return list(found.values())


def _where(catalogue: Catalogue, store: Store) -> str:
    """A setter's caller says more than the setter."""
    site = store[1] if store[1] != NONE else store[0]
    place = catalogue.places[int(catalogue.site_place[site])]
    inside = f" in {catalogue.name(int(catalogue.site_function[store[0]]))}" if site != store[0] else ""
    return f"{catalogue.name(place.inlined)}:{place.line}{inside}"


def _preventing(comparison: RelationsComparison, symptom: RelationSymptom) -> list[Store]:
    settings = comparison.settings
    read: dict[tuple[Store, int], list[int]] = defaultdict(lambda: [0, 0])  # by store and branch: tests, arm taken
    tested: dict[int, list[int]] = defaultdict(lambda: [0, 0])  # by branch
    for side, weight in ((comparison.good, symptom.good), (comparison.bad, symptom.bad)):
        for arm in _arms_around(side, np.flatnonzero(weight > 0)[:_SYMPTOMS_LOOKED_AT].tolist()):
            branch = comparison.catalogue.classes[arm].decision
            tests = side.deciding.executions(branch)
            taken = side.deciding.arms(tests) == arm
            for stores, took in zip(side.closures.first_hop(tests), taken.tolist(), strict=True):
                for store in stores:
                    for tally in (read[store, branch], tested[branch]):
                        tally[0] += 1
                        tally[1] += took
    return [
        store
        for (store, branch), (times, took) in read.items()
        if times >= settings.negation_events
        and took <= settings.negation_taken * times
        and tested[branch][1] >= settings.negation_taken * tested[branch][0]
    ]


def _arms_around(side: TraceSide, regions: list[int]) -> list[int]:
    """Classes of the arms around these regions, within their activation."""
    arms: dict[int, None] = {}
    for region in regions:
        around = region
        while around >= 0 and side.kind[around] not in (RegionKind.ACTIVATION, RegionKind.THREAD, RegionKind.SIGNAL):
            if side.kind[around] == RegionKind.ARM:
                arms[int(side.trace.label[around])] = None
            around = int(side.trace.parent[around])
    return list(arms)
