"""What is to be explained, as weights on regions (Perspect, 3.1): where the symptom is, how much, in which sense."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int32s, Ints
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.relations.changed_relations.closure import Store
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.executions.loading import Zoomed
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.executions.tree_passes import nearest_above
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.deep_tables import SiteKind
from whyperf.recording.symptom import SymptomKind, SymptomSpec, is_file
from whyperf.recording.version import PEAK_MEMORY_VERSION

_SITES_MAX = 12
"""Instructions that update a variable: those with the largest change are followed."""


@dataclass(frozen=True, eq=False)
class RelationSymptom:
    name: str  # "calls of evict": follows a number
    polarity: int  # -1: more of it makes what is watched smaller
    good: Floats  # weight by region
    bad: Floats
    good_total: float  # per run
    bad_total: float
    family: frozenset[int] = frozenset()  # sites whose executions are the symptom
    prevents: Store | None = None
    """Found, not given: executing this store prevents the symptom (Perspect, 3.1)."""

    @property
    def negation(self) -> bool:
        return self.prevents is not None

    def is_stored_by(self, store: Store) -> bool:
        """Whether the symptom's own executions are the store."""
        return store == self.prevents if self.prevents is not None else store[0] in self.family

    @property
    def change(self) -> float:
        return self.bad_total - self.good_total


def select(zoomed: Zoomed, spec: SymptomSpec) -> list[RelationSymptom]:
    """Several where several instructions update what is watched: each has its own causes."""
    match spec.kind:
        case SymptomKind.FUNCTION:
            return [_executions(zoomed, _function_entries(zoomed, spec.name), f"calls of {spec.name}")]
        case SymptomKind.LINE:
            where = f"{PurePosixPath(spec.name).name}:{spec.line}"
            return [_executions(zoomed, _line_starts(zoomed, spec), f"executions of {where}")]
        case SymptomKind.VARIABLE | SymptomKind.MEMORY:
            return _updates(zoomed, spec)
        case SymptomKind.INSTRUCTIONS:
            return [_instructions_of(zoomed, spec.name)]


def sampled(symptom: RelationSymptom, settings: RelationsSettings) -> RelationSymptom:
    """One in so many of the symptom's regions, in contiguous windows, each standing for as many."""
    if settings.one_symptom_in <= 1:
        return symptom
    return replace(symptom, good=_windows(symptom.good, settings), bad=_windows(symptom.bad, settings))


def _windows(weight: Floats, settings: RelationsSettings) -> Floats:
    regions = np.flatnonzero(weight)
    length = max(1, len(regions) // (settings.windows * settings.one_symptom_in))
    kept = regions[np.arange(len(regions)) // length % settings.one_symptom_in == 0]
    part = np.zeros(len(weight))
    part[kept] = weight[kept]
    total = float(part.sum())
    return part * (float(weight.sum()) / total) if total else weight


def of_sites(zoomed: Zoomed, sites: frozenset[int], name: str) -> RelationSymptom:
    """Every execution of these sites counts one."""
    good, bad = (_weights(trace, np.flatnonzero(_at(trace, sites)), None) for trace in zoomed.sides)
    return replace(_symptom(zoomed, name, good, bad), family=sites)


def preventing(zoomed: Zoomed, store: Store, name: str, polarity: int) -> RelationSymptom:
    """Every execution of the store, called from where it says, counts one."""
    site, caller = store
    weights = []
    for trace in zoomed.sides:
        events = np.flatnonzero(trace.site == site)
        weights.append(_weights(trace, events[trace.caller[trace.region[events]] == caller], None))
    found = _symptom(zoomed, name, weights[0], weights[1])
    return replace(found, polarity=polarity, family=frozenset({site}), prevents=store)


def _symptom(zoomed: Zoomed, name: str, good: Floats, bad: Floats) -> RelationSymptom:
    totals = float(good.sum()) / zoomed.good.runs, float(bad.sum()) / zoomed.bad.runs
    return RelationSymptom(name, 1, good, bad, *totals)


def _executions(zoomed: Zoomed, sites: frozenset[int], name: str) -> RelationSymptom:
    found = of_sites(zoomed, sites, name)
    if not found.good_total and not found.bad_total:
        raise WhyperfError(
            f"The symptom ({name}) never occurred in either run, or outside of what was zoomed into.",
            "whyperf compare --deep --symptom function:NAME ...",
        )
    return found


def _at(trace: ExecutionTrace, sites: frozenset[int]) -> Bools:
    return np.isin(trace.site, np.fromiter(sites, np.int32, len(sites)))


def _weights(trace: ExecutionTrace, events: Int32s | np.ndarray, amount: Floats | None) -> Floats:
    regions = trace.region[events]
    known = regions >= 0
    weights = None if amount is None else amount[known]
    return np.bincount(regions[known], weights=weights, minlength=len(trace.parent)).astype(np.float64)


def _instructions_of(zoomed: Zoomed, function: str) -> RelationSymptom:
    """All that was executed; with a name, in functions so called and what they call that is not watched."""
    catalogue = zoomed.catalogue
    if not function:
        return _symptom(zoomed, "instructions", *(_instructions(trace, catalogue) for trace in zoomed.sides))
    wanted = _functions_called(zoomed, function)
    weights = []
    for trace in zoomed.sides:
        around = nearest_above(trace.parent, trace.activation >= 0)
        inside = np.isin(np.where(around >= 0, trace.activation[around], NONE), wanted)
        whole = _instructions(trace, catalogue)
        # Where it was inlined, its own instructions are all that is known.
        inlined = np.isin(catalogue.site_function[trace.site], wanted)
        weights.append(np.where(inside, whole, _weights(trace, np.flatnonzero(inlined), None)))
    return _symptom(zoomed, f"instructions in {function}", *weights)


def _instructions(trace: ExecutionTrace, catalogue: Catalogue) -> Floats:
    """What was executed in each region itself. Code that was not watched counts where it was called from."""
    own = _weights(trace, np.arange(trace.events), None)
    activations = trace.activation >= 0
    nearest = nearest_above(trace.parent, activations)
    called = np.flatnonzero(activations & (trace.instructions > 0))
    outside = np.zeros(len(own))
    outside[called] = trace.instructions[called]
    around = np.where(trace.parent >= 0, nearest[np.maximum(trace.parent, 0)], -1)
    inner = called[around[called] >= 0]
    np.subtract.at(outside, around[inner], trace.instructions[inner])
    watched = np.bincount(nearest[nearest >= 0], weights=own[nearest >= 0], minlength=len(own))
    outside = np.maximum(outside - watched, 0.0) * activations
    opened = np.zeros(trace.events, np.bool_)
    opened[trace.opener[activations & (trace.opener >= 0)]] = True
    calls = np.flatnonzero((catalogue.site_kind[trace.site] == SiteKind.CALL) & ~opened & (trace.region >= 0))
    caller = nearest[trace.region[calls]]
    calls, caller = calls[caller >= 0], caller[caller >= 0]
    times = np.bincount(caller, minlength=len(own))
    direct = np.where(times > 0, 0.0, outside)  # no call seen: its own, by signals or in unwatched parts
    each = np.divide(outside, times, out=np.zeros(len(own)), where=times > 0)
    return own + direct + _weights(trace, calls, each[caller])


def _updates(zoomed: Zoomed, spec: SymptomSpec) -> list[RelationSymptom]:
    what = "bytes allocated" if spec.kind is SymptomKind.MEMORY else f"added to {spec.name}"
    totals: dict[int, float] = {}
    for trace, sign in ((zoomed.good, -1.0 / zoomed.good.runs), (zoomed.bad, 1.0 / zoomed.bad.runs)):
        changes = np.bincount(trace.site[trace.updated], weights=trace.amount * sign, minlength=zoomed.catalogue.sites)
        for site in np.unique(trace.site[trace.updated]).tolist():
            totals[site] = totals.get(site, 0.0) + float(changes[site])
    if not totals:
        raise WhyperfError(
            f"Nothing was recorded of the symptom {spec}: it never changed, or outside of what was zoomed into.",
            f"whyperf compare --deep --symptom {spec} ...",
        )
    chosen = sorted(totals, key=lambda site: (-abs(totals[site]), site))[:_SITES_MAX]
    return [_update(zoomed, site, what, frozenset(totals)) for site in chosen]


def _update(zoomed: Zoomed, site: int, what: str, family: frozenset[int]) -> RelationSymptom:
    net = sum(float(trace.amount[trace.site[trace.updated] == site].sum()) for trace in zoomed.sides)
    polarity = 1 if net >= 0 else -1
    weights = []
    for trace in zoomed.sides:
        chosen = trace.site[trace.updated] == site
        weights.append(_weights(trace, trace.updated[chosen], trace.amount[chosen] * float(polarity)))
    if polarity < 0:
        what = what.replace("allocated", "freed").replace("added to", "taken from")
    return replace(_symptom(zoomed, what, weights[0], weights[1]), polarity=polarity, family=family)


def _function_entries(zoomed: Zoomed, name: str) -> frozenset[int]:
    catalogue = zoomed.catalogue
    inside = np.isin(catalogue.site_function, _functions_called(zoomed, name))
    entries = np.flatnonzero(inside & catalogue.entry)
    if len(entries):
        return frozenset(entries.tolist())
    # Inlined everywhere: where its code begins in every function that it was inlined into.
    first: dict[int, int] = {}
    for site in np.flatnonzero(inside).tolist():
        first.setdefault(catalogue.places[int(catalogue.site_place[site])].function, site)
    return frozenset(first.values())


def _functions_called(zoomed: Zoomed, name: str) -> Int32s:
    names = [function.key.name for function in zoomed.catalogue.functions]
    wanted = [number for number, known in enumerate(names) if is_called(known, name)]
    if not wanted:
        raise unknown_function(name, names)
    return np.array(wanted, np.int32)


def _line_starts(zoomed: Zoomed, spec: SymptomSpec) -> frozenset[int]:
    """The line's instructions that are executed most, but no more than once at a time: the first of them."""
    catalogue = zoomed.catalogue
    by_place = [
        np.flatnonzero(catalogue.site_place == number)
        for number, place in enumerate(catalogue.places)
        if _is_meant(place.file, place.line, spec)
    ]
    by_place += _header_sites(catalogue, spec)
    if not by_place:
        raise WhyperfError(
            f"No instruction of {spec.name}:{spec.line} was recorded.",
            f"whyperf compare --deep --symptom line:{spec.name}:{_nearest_line(catalogue, spec)} ...",
        )
    starts = set()
    for sites in by_place:
        times = sum(np.bincount(trace.site, minlength=catalogue.sites)[sites] for trace in zoomed.sides)
        starts.add(int(sites[int(np.argmax(times))]))
    return frozenset(starts)


def _header_sites(catalogue: Catalogue, spec: SymptomSpec) -> list[Ints]:
    """Of a system header's line that is inlined: its sites by the line that it is inlined at."""
    sites: dict[int, list[int]] = defaultdict(list)
    for site, (file, line) in catalogue.header_line.items():
        if _is_meant(file, line, spec):
            sites[int(catalogue.site_place[site])].append(site)
    return [np.array(one, np.int64) for one in sites.values()]


def _is_meant(file: str, line: int, spec: SymptomSpec) -> bool:
    return line == spec.line and is_file(file, spec.name)


def _nearest_line(catalogue: Catalogue, spec: SymptomSpec) -> int:
    lines = [
        place.line for place in catalogue.places if PurePosixPath(place.file).name == PurePosixPath(spec.name).name
    ]
    return min(lines, key=lambda line: abs(line - spec.line), default=spec.line)


def check_versions(recordings: Sequence[Recorded], spec: SymptomSpec) -> None:
    """Numbers that mean different things are not compared."""
    if spec.kind is SymptomKind.MEMORY and any(one.manifest.format < PEAK_MEMORY_VERSION for one in recordings):
        raise WhyperfError(
            "A deep recording is from an older whyperf, which counted memory at the end of the run, not at its peak.",
            "whyperf compare --deep --symptom memory",
        )


def unknown_function(name: str, known: list[str]) -> WhyperfError:
    near = get_close_matches(name, sorted(set(known)), n=3, cutoff=0.5)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return WhyperfError(
        f"No function {name} was recorded in either run.{hint}",
        f"whyperf compare --deep --symptom function:{near[0] if near else 'NAME'} ...",
    )


def is_called(full: str, name: str) -> bool:
    return full == name or full.endswith("::" + name)
