"""The tests behind arms and iterations: which executions of a branch decided for what, and what hung on each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.relations.arrays import Floats, Int32s, Ints
from whyperf.engines.relations.catalogue import Catalogue
from whyperf.engines.relations.kernels import grouped, nearest_above
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.trace import Trace
from whyperf.recording.deep_tables import RegionKind


@dataclass(frozen=True, eq=False)
class Tests:
    event: Int32s
    loop: Int32s
    """The loop's region if the test is a loop's own; -1 otherwise."""
    opened: Int32s
    """The arm or iteration that began; -1 if the branch went straight on to where its arms join."""

    def __len__(self) -> int:
        return len(self.event)


class Deciding:
    """Tests of one side's trace, by decision."""

    def __init__(self, trace: Trace, catalogue: Catalogue, settings: RelationsSettings) -> None:
        self.trace, self.catalogue, self.settings = trace, catalogue, settings
        kinds = np.array([one.kind for one in catalogue.classes], np.int8)
        decisions = np.array([one.decision for one in catalogue.classes], np.int32)
        kind, decision = kinds[trace.label], decisions[trace.label]
        self._of_loops = {one.decision for one in catalogue.classes if one.kind == RegionKind.ITERATION}
        self._loop = nearest_above(trace.parent, kind == RegionKind.LOOP)
        arms = np.flatnonzero((kind == RegionKind.ARM) & (trace.opener >= 0))
        self._arm_of_event = np.full(trace.events, -1, np.int32)
        self._arm_of_event[trace.opener[arms]] = arms
        # An iteration's opener is the branch last taken: the loop's test only if that branch can end the loop.
        tested = (trace.opener >= 0) & (decision >= 0)
        iterations = np.flatnonzero(tested & (kind == RegionKind.ITERATION))
        pair = decision[iterations].astype(np.int64) * catalogue.sites + trace.site[trace.opener[iterations]]
        ends_loop = np.isin(pair, np.array([at * catalogue.sites + site for at, site in catalogue.exits], np.int64))
        tested[iterations[~ends_loop]] = False
        self._opened = grouped(np.where(tested, decision, -1).astype(np.int32), len(catalogue.decisions))
        self._executed = trace.by_site(catalogue.sites)

    def openings(self, decision: int, below: Floats) -> tuple[Tests, Floats]:
        """Tests that led to some of the symptom, and how much; `below` is its inclusive weight by region."""
        start, order = self._opened
        regions = order[start[decision] : start[decision + 1]]
        regions = regions[below[regions] > 0]
        # A test at a loop's top opens its arm and, later, the next iteration: it was one test.
        _, first = np.unique(self.trace.opener[regions], return_index=True)
        regions = regions[first[self.windows(len(first))]]
        return self._tests(decision, self.trace.opener[regions], regions), below[regions]

    def executions(self, decision: int) -> Tests:
        """All executions of the branch, whatever came of them."""
        site = self.catalogue.decisions[decision]
        start, order = self._executed
        events = order[start[site] : start[site + 1]] if site >= 0 else order[:0]
        events = events[self.windows(len(events))]
        return self._tests(decision, events, self._arm_of_event[events])

    def arms(self, tests: Tests) -> Int32s:
        """By test: the class of the arm taken; -1 if none was."""
        return np.where(tests.opened >= 0, self.trace.label[np.maximum(tests.opened, 0)], -1).astype(np.int32)

    def windows(self, size: int) -> Ints:
        """At most so many of `size` rows, in contiguous windows: sampled 1 in n, neighbours would lose each other."""
        limit, windows = self.settings.tests_per_decision, self.settings.windows
        if size <= limit:
            return np.arange(size)
        length = limit // windows
        starts = np.linspace(0, size - length, windows).astype(np.int64)
        return (starts[:, None] + np.arange(length)).reshape(-1)

    def _tests(self, decision: int, events: Int32s, opened: Int32s) -> Tests:
        if decision in self._of_loops:
            around = self.trace.region[events]
            loop = np.where(around >= 0, self._loop[np.maximum(around, 0)], -1).astype(np.int32)
        else:
            loop = np.full(len(events), -1, np.int32)
        return Tests(events, loop, opened)
