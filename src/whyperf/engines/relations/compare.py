"""Two groups of deep recordings in, findings out."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.engines.recording_protocol import Recorded, rows_of
from whyperf.engines.relations.changed_relations.negation import negations
from whyperf.engines.relations.changed_relations.refine import refine
from whyperf.engines.relations.changed_relations.search import FoundRelations, search
from whyperf.engines.relations.changed_relations.sides import compare_sides
from whyperf.engines.relations.changed_relations.symptoms import check_versions, sampled, select
from whyperf.engines.relations.counting import compare_sketches
from whyperf.engines.relations.executions.loading import Zoomed, load
from whyperf.engines.relations.reported.candidates import most_explained, rank, whole_change
from whyperf.engines.relations.reported.findings import Relations, finding
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.sketch import load_sketches
from whyperf.engines.run import Run
from whyperf.recording.file_backed import large_arrays_in_files
from whyperf.recording.symptom import SymptomKind, SymptomSpec

# What the symptom is called where additions and removals are several symptoms.
_NET = {SymptomKind.VARIABLE: "in {}", SymptomKind.MEMORY: "bytes in use at the peak"}


@large_arrays_in_files()
def compare(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    spec: SymptomSpec | None = None,
    settings: RelationsSettings | None = None,
) -> Relations:
    """Zooms, if all are; else what their sketches say."""
    settings = settings or RelationsSettings()
    spec = spec or SymptomSpec(SymptomKind.INSTRUCTIONS)
    check_versions((*good, *bad), spec)
    good_runs, bad_runs = [Run(one) for one in good], [Run(one) for one in bad]
    if all(rows_of(one, "executions").count for one in (*good, *bad)):
        return compare_zooms(load(good_runs, bad_runs), spec, settings)
    return compare_sketches(load_sketches(good_runs, bad_runs), spec, settings)


def compare_zooms(zoomed: Zoomed, spec: SymptomSpec, settings: RelationsSettings) -> Relations:
    given = select(zoomed, spec)
    comparison = compare_sides(zoomed, given, settings)
    change = whole_change(given)
    notes = list(zoomed.catalogue.notes)
    name = given[0].name if len(given) == 1 else _NET.get(spec.kind, str(spec)).format(spec.name)
    if not change.is_material(settings):
        return Relations("zoom", name, change.good, change.bad, (), tuple(notes), 0)
    symptoms = [sampled(one, settings) for one in (*given, *negations(zoomed, comparison, given))]
    found = FoundRelations()
    for symptom in symptoms:
        most = most_explained(symptom, change, settings)
        if most > 0:
            search(comparison, symptom, most, found)
    refined = refine(comparison, found.decisions(), symptoms)
    candidates = rank(comparison, refined, change, found.steady)
    findings = tuple(finding(comparison, one, number) for number, one in enumerate(candidates, 1))
    return Relations("zoom", name, change.good, change.bad, findings, tuple(notes), found.looked_at)
