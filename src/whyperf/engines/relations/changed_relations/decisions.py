"""The tests behind arms and iterations: which executions of a branch decided for what, and what hung on each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Floats, Int32s, Ints
from whyperf.engines.grouping import grouped
from whyperf.engines.relations.executions.catalogue import Catalogue
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.executions.tree_passes import nearest_above
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.recording.schemas.deep_tables import RegionKind


@dataclass(frozen=True, eq=False)
class Trials:
    """Executions of a branch, in groups that decided one thing: one test for an arm, a loop's first and last test for
    how often it runs."""

    event: Int32s
    group: Int32s  # of each event; groups follow one another
    loop: Int32s
    """By event: the loop's region if the test is a loop's own; -1 otherwise."""
    groups: int


class Deciding:
    """Trials of one side's trace, by decision."""

    def __init__(self, trace: ExecutionTrace, catalogue: Catalogue, settings: RelationsSettings) -> None:
        self.trace, self.catalogue, self.settings = trace, catalogue, settings
        kinds = np.array([one.kind for one in catalogue.classes], np.int8)
        decisions = np.array([one.decision for one in catalogue.classes], np.int32)
        kind, decision = kinds[trace.label], decisions[trace.label]
        self._of_loops = {one.decision for one in catalogue.classes if one.kind == RegionKind.ITERATION}
        self._loop = nearest_above(trace.parent, kind == RegionKind.LOOP)
        iterations = np.flatnonzero(kind == RegionKind.ITERATION)
        self._loop_decision = np.full(len(trace.parent), -1, np.int32)
        self._loop_decision[trace.parent[iterations]] = decision[iterations]
        arms = np.flatnonzero((kind == RegionKind.ARM) & (trace.opener >= 0))
        self._arm_of_event = np.full(trace.events, -1, np.int32)
        self._arm_of_event[trace.opener[arms]] = arms
        opened = np.full(len(trace.parent), -1, np.int32)
        opened[arms] = decision[arms]
        self._opened = grouped(opened, len(catalogue.decisions))
        self._loops = grouped(self._loop_decision, len(catalogue.decisions))
        self._executed = trace.by_site(catalogue.sites)

    def leading(self, decision: int, below: Floats) -> tuple[Trials, Floats]:
        """Trials that led to some of the symptom, and how much hung on each; `below`: its weight within each region."""
        start, order = self._loops if decision in self._of_loops else self._opened
        regions = order[start[decision] : start[decision + 1]]
        regions = regions[below[regions] > 0]
        regions = regions[self.windows(len(regions))]
        if decision in self._of_loops:
            tests, tested = self._of_loop_regions(decision, regions)
            return tests, below[tested]
        return _single(self.trace.opener[regions]), below[regions]

    def all_of(self, decision: int) -> tuple[Trials, Floats]:
        """All that the branch decided, whatever came of it, each with weight 1."""
        if decision in self._of_loops:
            start, order = self._loops
            regions = order[start[decision] : start[decision + 1]]
            tests, tested = self._of_loop_regions(decision, regions[self.windows(len(regions))])
            return tests, np.ones(len(tested))
        events = self.executions(decision)
        return _single(events), np.ones(len(events))

    def executions(self, decision: int) -> Int32s:
        """Of the branch, in windows."""
        events = self._at(self.catalogue.decisions[decision])
        return events[self.windows(len(events))]

    def arms(self, events: Int32s) -> Int32s:
        """By execution of a branch: the class of the arm taken; -1 if it went straight on to where the arms join."""
        opened = self._arm_of_event[events]
        return np.where(opened >= 0, self.trace.label[np.maximum(opened, 0)], -1).astype(np.int32)

    def windows(self, size: int) -> Ints:
        """At most so many of `size` rows, in contiguous windows: sampled 1 in n, neighbours would lose each other."""
        limit, windows = self.settings.tests_per_decision, self.settings.windows
        if size <= limit:
            return np.arange(size)
        length = limit // windows
        starts = np.linspace(0, size - length, windows).astype(np.int64)
        return (starts[:, None] + np.arange(length)).reshape(-1)

    def _at(self, site: int) -> Int32s:
        start, order = self._executed
        return order[start[site] : start[site + 1]] if site >= 0 else order[:0]

    def _of_loop_regions(self, decision: int, loops: Int32s) -> tuple[Trials, Int32s]:
        """The first and the last test of each loop: what it started from, and what ended it."""
        events = self._at(self.catalogue.decisions[decision])
        around = self.trace.region[events]
        loop = np.where(around >= 0, self._loop[np.maximum(around, 0)], -1)
        known = np.isin(loop, loops)
        events, loop = events[known], loop[known]
        tested, first = np.unique(loop, return_index=True)
        _, from_end = np.unique(loop[::-1], return_index=True)
        both = np.stack([events[first], events[len(events) - 1 - from_end]], axis=1).reshape(-1)
        group = np.repeat(np.arange(len(tested)), 2)
        return Trials(both, group.astype(np.int32), tested[group].astype(np.int32), len(tested)), tested


def _single(events: Int32s) -> Trials:
    return Trials(events, np.arange(len(events), dtype=np.int32), np.full(len(events), -1, np.int32), len(events))
