"""Everything that is computed once per side and asked for by several steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int32s, Ints
from whyperf.engines.relations.changed_relations.closure import Closures
from whyperf.engines.relations.changed_relations.decisions import Deciding
from whyperf.engines.relations.changed_relations.fanout import Fanout, fanout
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom
from whyperf.engines.relations.executions.catalogue import Catalogue
from whyperf.engines.relations.executions.loading import Zoomed
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.executions.tree_passes import inclusive
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.recording.schemas.deep_tables import RegionKind


@dataclass(eq=False)
class TraceSide:
    trace: ExecutionTrace
    catalogue: Catalogue
    settings: RelationsSettings
    family: frozenset[int] = frozenset()
    """Sites that are a symptom: never named as a cause of it."""

    @cached_property
    def fanout(self) -> Fanout:
        return fanout(self.trace, len(self.catalogue.classes))

    @cached_property
    def deciding(self) -> Deciding:
        return Deciding(self.trace, self.catalogue, self.settings)

    @cached_property
    def closures(self) -> Closures:
        return Closures(self.trace, self.catalogue, self.family, self.settings)

    @cached_property
    def executed(self) -> Ints:
        """By site: how often."""
        return np.bincount(self.trace.site, minlength=self.catalogue.sites)

    @cached_property
    def place_executed(self) -> Floats:
        """By place: executions of its busiest instruction, per run."""
        times = np.zeros(len(self.catalogue.places))
        np.maximum.at(times, self.catalogue.site_place, self.executed)
        return times / self.trace.runs

    @cached_property
    def called(self) -> Floats:
        """By function: activations per run."""
        active = self.trace.activation[self.trace.activation >= 0]
        return np.bincount(active, minlength=len(self.catalogue.functions)) / self.trace.runs

    @cached_property
    def kind(self) -> Int32s:
        """By region."""
        return np.array([one.kind for one in self.catalogue.classes], np.int32)[self.trace.label]

    @cached_property
    def iterations(self) -> Bools:
        found: Bools = self.kind == RegionKind.ITERATION
        return found

    @cached_property
    def _by_site(self) -> tuple[Ints, Int32s]:
        return self.trace.by_site(self.catalogue.sites)

    def stored(self, site: int, caller: int) -> float:
        """How often a store was executed that was called from there, per run."""
        start, order = self._by_site
        regions = self.trace.region[order[start[site] : start[site + 1]]]
        return float(np.count_nonzero(self.trace.caller[regions] == caller)) / self.trace.runs

    def first_executions(self, sites: list[int], most: int) -> list[int]:
        start, order = self._by_site
        events = np.concatenate([order[start[site] : start[site + 1]][:most] for site in sites] or [order[:0]])
        return [int(event) for event in np.sort(events)[:most]]

    def classes_upward(self, region: int) -> list[int]:
        """Classes of a region and of all those around it, innermost first."""
        found = []
        while region >= 0:
            found.append(int(self.trace.label[region]))
            region = int(self.trace.parent[region])
        return found


@dataclass(frozen=True, eq=False)
class RelationsComparison:
    catalogue: Catalogue
    good: TraceSide
    bad: TraceSide
    settings: RelationsSettings

    @property
    def sides(self) -> tuple[TraceSide, TraceSide]:
        return self.good, self.bad


def compare_sides(zoomed: Zoomed, symptoms: list[RelationSymptom], settings: RelationsSettings) -> RelationsComparison:
    family = frozenset(site for symptom in symptoms for site in symptom.family)
    good, bad = (TraceSide(trace, zoomed.catalogue, settings, family) for trace in zoomed.sides)
    return RelationsComparison(zoomed.catalogue, good, bad, settings)


@dataclass(frozen=True, eq=False)
class WeightBelow:
    """A symptom's weight within each region, by side."""

    good: Floats
    bad: Floats


def below(comparison: RelationsComparison, symptom: RelationSymptom) -> WeightBelow:
    return WeightBelow(
        inclusive(comparison.good.trace.parent, symptom.good), inclusive(comparison.bad.trace.parent, symptom.bad)
    )
