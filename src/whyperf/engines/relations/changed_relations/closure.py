"""Where the values that a test looked at came from: thin data closures (see docs/how-relations-work.md).

Only values are followed, never the registers that address memory. Plain transitive closure makes every event depend
on all earlier iterations; so an instruction is taken once per closure, one that merely copies a value a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int8s, Int32s, Ints
from whyperf.engines.compiled import njit
from whyperf.engines.relations.changed_relations.decisions import Trials
from whyperf.engines.relations.executions.catalogue import NONE, Catalogue
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.recording.schemas.deep_tables import DependenceKind

_MEMORY, _OLD = int(DependenceKind.MEMORY), int(DependenceKind.OLD)
Store = tuple[int, int]
"""The site of an instruction that stored a value, and that of the call which led to it: setters are told apart by who
called them. NONE where the caller was not watched."""
Stores = frozenset[Store]


class _Ground(NamedTuple):
    """What closures walk on: the trace, what is known of its sites, and marks of the closure at hand. A mark counts
    only if it bears the closure's stamp, so nothing is ever cleared."""

    site: Int32s
    region: Int32s
    first_input: Ints
    producer: Int32s
    through: Int8s
    parent: Int32s
    activation: Int32s
    caller: Int32s
    copies: Bools
    spills: Bools
    loads: Bools
    place: Int32s
    marked: Int32s  # by event
    site_marked: Int32s
    site_times: Int32s
    region_marked: Int32s
    found: Int32s


class _Tally(NamedTuple):
    """By place, then by function."""

    weight: Floats
    groups: Int32s
    distance: Floats
    last: Int32s  # the group that was counted last, plus 1


class _Trials(NamedTuple):
    event: Int32s
    group: Int32s
    loop: Int32s


class _Limits(NamedTuple):
    copies: int
    callers: int
    places: int
    functions: int


@njit(cache=True, nogil=True)
def _closure(test: int, stamp: int, ground: _Ground, copies_max: int) -> int:
    """Producers of one event, nearest first, into `ground.found`; returns how many."""
    count, at, event = 0, 0, test
    ground.marked[test] = stamp
    while True:
        for edge in range(ground.first_input[event], ground.first_input[event + 1]):
            source = ground.producer[edge]
            if source < 0 or ground.marked[source] == stamp or ground.through[edge] == _OLD:
                continue
            ground.marked[source] = stamp
            where = ground.site[source]
            if ground.site_marked[where] != stamp:
                ground.site_marked[where] = stamp
                ground.site_times[where] = 0
            if ground.site_times[where] >= (copies_max if ground.copies[where] else 1):
                continue
            ground.site_times[where] += 1
            ground.found[count] = source
            count += 1
            if count == len(ground.found):
                return count
        if at == count:
            return count
        event = ground.found[at]
        at += 1


@njit(cache=True, nogil=True)
def _is_within(region: int, outer: int, parent: Int32s) -> bool:
    while region > outer:
        region = parent[region]
    return region == outer


@njit(cache=True, nogil=True)
def _count(tally: _Tally, slot: int, group: int, weight: float, distance: float) -> None:
    """A group counts once, with its nearest occurrence."""
    if tally.last[slot] != group + 1:
        tally.last[slot] = group + 1
        tally.weight[slot] += weight
        tally.groups[slot] += 1
        tally.distance[slot] += distance


@njit(cache=True, nogil=True)
def _origins(tests: _Trials, weight: Floats, stamp: int, ground: _Ground, limits: _Limits) -> tuple[_Tally, int]:
    size = limits.places + limits.functions
    tally = _Tally(np.zeros(size), np.zeros(size, np.int32), np.zeros(size), np.zeros(size, np.int32))
    for row in range(len(tests.event)):
        stamp += 1
        test, group, loop = tests.event[row], tests.group[row], tests.loop[row]
        count = _closure(test, stamp, ground, limits.copies)
        around = ground.region[test]
        while around >= 0:
            ground.region_marked[around] = stamp
            around = ground.parent[around]
        for rank in range(count):
            event = ground.found[rank]
            place, inner = ground.place[ground.site[event]], ground.region[event]
            # What the loop itself computes is a recurrence: what it started from is looked for.
            if place < 0 or (loop >= 0 and _is_within(inner, loop, ground.parent)):
                continue
            # Where a value was stored says more than where it was loaded, if both are known.
            farther = len(ground.found) if ground.loads[ground.site[event]] else 0
            _count(tally, place, group, weight[group], rank + farther)
            callers = 0
            while inner >= 0 and callers < limits.callers:
                if ground.activation[inner] >= 0:
                    callers += 1
                    if ground.region_marked[inner] != stamp:
                        slot = limits.places + ground.activation[inner]
                        _count(tally, slot, group, weight[group], rank + 0.5)
                inner = ground.parent[inner]
    for slot in range(size):
        if tally.groups[slot]:
            tally.distance[slot] /= tally.groups[slot]
    return tally, stamp


@njit(cache=True, nogil=True)
def _first_hop(tests: Int32s, stamp: int, ground: _Ground, steps: int) -> tuple[Int32s, Ints, int]:
    """The stores (or constants) that tests read, through registers only; pairs of test's row and store."""
    rows = np.empty(1024, np.int32)
    stores = np.empty(1024, np.int64)
    sites = len(ground.copies)
    count = 0
    queue = np.empty(steps + 1, np.int32)
    for row in range(len(tests)):
        stamp += 1
        ground.marked[tests[row]] = stamp
        queue[0], size, at = tests[row], 1, 0
        while at < size:
            event = queue[at]
            at += 1
            for edge in range(ground.first_input[event], ground.first_input[event + 1]):
                source = ground.producer[edge]
                if source < 0 or ground.marked[source] == stamp:
                    continue
                ground.marked[source] = stamp
                constant = ground.first_input[source] == ground.first_input[source + 1]
                through = ground.through[edge]
                stored = through == _OLD or (through == _MEMORY and not ground.spills[ground.site[source]])
                if constant or stored:
                    if count == len(rows):
                        rows = np.concatenate((rows, np.empty(count, np.int32)))
                        stores = np.concatenate((stores, np.empty(count, np.int64)))
                    rows[count] = row
                    stores[count] = ground.site[source] + sites * (ground.caller[ground.region[source]] + 1)
                    count += 1
                elif size <= steps:
                    queue[size] = source
                    size += 1
    return rows[:count], stores[:count], stamp


@dataclass(frozen=True, eq=False)
class Origins:
    """Of some tests: which part of their weight, and how many, depend on each place and on each function's work."""

    weight: Floats
    groups: Int32s
    distance: Floats
    """How many producers are nearer, on average."""
    total_weight: float
    total_groups: int

    def first(self, slots: int) -> Origins:
        return replace(self, weight=self.weight[:slots], groups=self.groups[:slots], distance=self.distance[:slots])


class Closures:
    """Closures over one trace."""

    def __init__(
        self, trace: ExecutionTrace, catalogue: Catalogue, unnamed: frozenset[int], settings: RelationsSettings
    ) -> None:
        """`unnamed`: sites that are followed, but never named as a cause."""
        self._settings = settings
        place = np.where(catalogue.nameless, NONE, catalogue.site_place).astype(np.int32)
        place[sorted(unnamed)] = NONE
        sizes = trace.events, catalogue.sites, catalogue.sites, len(trace.parent), settings.producers_max
        self._ground = _Ground(
            trace.site,
            trace.region,
            trace.first_input,
            trace.producer,
            trace.through,
            trace.parent,
            trace.activation,
            trace.caller,
            catalogue.copies,
            catalogue.spills,
            catalogue.loads,
            place,
            *(np.zeros(size, np.int32) for size in sizes),
        )
        self._limits = _Limits(
            settings.copies_per_closure, settings.producer_callers, len(catalogue.places), len(catalogue.functions)
        )
        self._stamp = 0

    def producers(self, test: int) -> list[int]:
        """Nearest first."""
        self._stamp += 1
        count = _closure(test, self._stamp, self._ground, self._limits.copies)
        return [int(event) for event in self._ground.found[:count]]

    def origins(self, tests: Trials, weight: Floats) -> Origins:
        """`weight`: of each group of tests."""
        arrays = _Trials(tests.event, tests.group, tests.loop)
        tally, self._stamp = _origins(arrays, weight, self._stamp, self._ground, self._limits)
        return Origins(tally.weight, tally.groups, tally.distance, float(weight.sum()), tests.groups)

    def first_hop(self, tests: Int32s) -> list[Stores]:
        """For every test the stores that it read, local variables looked through."""
        rows, stores, self._stamp = _first_hop(tests, self._stamp, self._ground, self._settings.first_hop_steps)
        sets: list[set[Store]] = [set() for _ in range(len(tests))]
        sites = len(self._ground.copies)
        for row, store in zip(rows.tolist(), stores.tolist(), strict=True):
            sets[row].add((store % sites, store // sites - 1))
        return [frozenset(found) for found in sets]
