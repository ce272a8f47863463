"""Where the values that a test looked at came from: thin data closures (see docs/how-relations-work.md).

Only values are followed, never the registers that address memory. Plain transitive closure makes every event depend
on all earlier iterations; so an instruction is taken once per closure, one that merely copies a value a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from whyperf.engines.relations.arrays import Bools, Floats, Int32s, Ints
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.trace import Trace


@njit(cache=True, nogil=True)
def _closure(
    test: int,
    stamp: int,
    site: Int32s,
    first_input: Ints,
    producer: Int32s,
    copies: Bools,
    seen: Int32s,
    site_seen: Int32s,
    site_times: Int32s,
    copies_max: int,
    found: Int32s,
) -> int:
    """Producers of one event, nearest first, into `found`; returns how many."""
    count, at, event = 0, 0, test
    seen[test] = stamp
    while True:
        for edge in range(first_input[event], first_input[event + 1]):
            source = producer[edge]
            if source < 0 or seen[source] == stamp:
                continue
            seen[source] = stamp
            where = site[source]
            if site_seen[where] != stamp:
                site_seen[where] = stamp
                site_times[where] = 0
            if site_times[where] >= (copies_max if copies[where] else 1):
                continue
            site_times[where] += 1
            found[count] = source
            count += 1
            if count == len(found):
                return count
        if at == count:
            return count
        event = found[at]
        at += 1


@njit(cache=True, nogil=True)
def _shares(
    tests: Int32s,
    loop: Int32s,
    weight: Floats,
    stamp: int,
    site: Int32s,
    region: Int32s,
    first_input: Ints,
    producer: Int32s,
    copies: Bools,
    site_place: Int32s,
    parent: Int32s,
    activation: Int32s,
    seen: Int32s,
    site_seen: Int32s,
    site_times: Int32s,
    region_seen: Int32s,
    copies_max: int,
    callers_max: int,
    found: Int32s,
    places: int,
    functions: int,
) -> tuple[Floats, Int32s, Floats, int]:
    """Per place, then per function: weight and number of tests whose closure has it, and its mean distance."""
    size = places + functions
    weights, times, distance = np.zeros(size), np.zeros(size, np.int32), np.zeros(size)
    counted = np.zeros(size, np.int32)
    for row in range(len(tests)):
        stamp += 1
        test = tests[row]
        count = _closure(
            test, stamp, site, first_input, producer, copies, seen, site_seen, site_times, copies_max, found
        )
        around = region[test]
        while around >= 0:
            region_seen[around] = stamp
            around = parent[around]
        for rank in range(count):
            event = found[rank]
            inner = region[event]
            if loop[row] >= 0:  # what the loop itself computes is a recurrence: what it started from is looked for
                outer = inner
                while outer > loop[row]:
                    outer = parent[outer]
                if outer == loop[row]:
                    continue
            place = site_place[site[event]]
            if place < 0:
                continue
            if counted[place] != row + 1:
                counted[place] = row + 1
                weights[place] += weight[row]
                times[place] += 1
                distance[place] += rank
            callers = 0
            while inner >= 0 and callers < callers_max:
                if activation[inner] >= 0:
                    callers += 1
                    slot = places + activation[inner]
                    if region_seen[inner] != stamp and counted[slot] != row + 1:
                        counted[slot] = row + 1
                        weights[slot] += weight[row]
                        times[slot] += 1
                        distance[slot] += rank + 0.5
                inner = parent[inner]
    for slot in range(size):
        if times[slot]:
            distance[slot] /= times[slot]
    return weights, times, distance, stamp


@njit(cache=True, nogil=True)
def _first_hop(
    tests: Int32s,
    stamp: int,
    site: Int32s,
    first_input: Ints,
    producer: Int32s,
    through_memory: Bools,
    spills: Bools,
    seen: Int32s,
    steps: int,
) -> tuple[Int32s, Int32s, int]:
    """The stores (or constants) that tests read, through registers only; pairs of test's row and store's site."""
    rows = np.empty(1024, np.int32)
    stores = np.empty(1024, np.int32)
    count = 0
    queue = np.empty(steps + 1, np.int32)
    for row in range(len(tests)):
        stamp += 1
        seen[tests[row]] = stamp
        queue[0], size, at = tests[row], 1, 0
        while at < size:
            event = queue[at]
            at += 1
            for edge in range(first_input[event], first_input[event + 1]):
                source = producer[edge]
                if source < 0 or seen[source] == stamp:
                    continue
                seen[source] = stamp
                constant = first_input[source] == first_input[source + 1]
                arrived = through_memory[edge] and not (spills[site[source]] and not constant)
                if arrived or constant:
                    if count == len(rows):
                        rows = np.concatenate((rows, np.empty(count, np.int32)))
                        stores = np.concatenate((stores, np.empty(count, np.int32)))
                    rows[count], stores[count] = row, site[source]
                    count += 1
                elif size <= steps:
                    queue[size] = source
                    size += 1
    return rows[:count], stores[:count], stamp


@dataclass(frozen=True, eq=False)
class Origins:
    """Of some tests: which part of their weight, and how many, depend on each place and on each function's work."""

    weight: Floats
    tests: Int32s
    distance: Floats
    """How many producers are nearer, on average."""
    total_weight: float
    total_tests: int


@dataclass(eq=False)
class Closures:
    """Closures over one trace; remembers nothing but its scratch arrays."""

    trace: Trace
    copies: Bools  # by site
    spills: Bools
    """By site: stores of local variables, through which values only pass."""
    site_place: Int32s
    """-1: never named as a cause, though followed."""
    places: int
    functions: int
    settings: RelationsSettings
    _stamp: int = 0
    _seen: Int32s = field(init=False)
    _site_seen: Int32s = field(init=False)
    _site_times: Int32s = field(init=False)
    _region_seen: Int32s = field(init=False)

    def __post_init__(self) -> None:
        self._seen = np.zeros(len(self.trace.site), np.int32)
        self._site_seen = np.zeros(len(self.copies), np.int32)
        self._site_times = np.zeros(len(self.copies), np.int32)
        self._region_seen = np.zeros(len(self.trace.parent), np.int32)

    def producers(self, test: int) -> list[int]:
        """Nearest first."""
        self._stamp += 1
        found = np.empty(self.settings.producers_max, np.int32)
        count = _closure(
            test,
            self._stamp,
            self.trace.site,
            self.trace.first_input,
            self.trace.producer,
            self.copies,
            self._seen,
            self._site_seen,
            self._site_times,
            self.settings.copies_per_closure,
            found,
        )
        return [int(event) for event in found[:count]]

    def origins(self, tests: Int32s, loop: Int32s, weight: Floats) -> Origins:
        """`loop`: for tests of a loop its region, within which producers do not count; -1 otherwise."""
        trace = self.trace
        weights, times, distance, self._stamp = _shares(
            tests,
            loop,
            weight,
            self._stamp,
            trace.site,
            trace.region,
            trace.first_input,
            trace.producer,
            self.copies,
            self.site_place,
            trace.parent,
            trace.activation,
            self._seen,
            self._site_seen,
            self._site_times,
            self._region_seen,
            self.settings.copies_per_closure,
            self.settings.producer_callers,
            np.empty(self.settings.producers_max, np.int32),
            self.places,
            self.functions,
        )
        return Origins(weights, times, distance, float(weight.sum()), len(tests))

    def first_hop(self, tests: Int32s) -> list[frozenset[int]]:
        """For every test the sites of the stores that it read, local variables looked through."""
        rows, stores, self._stamp = _first_hop(
            tests,
            self._stamp,
            self.trace.site,
            self.trace.first_input,
            self.trace.producer,
            self.trace.through_memory,
            self.spills,
            self._seen,
            self.settings.first_hop_steps,
        )
        sets: list[set[int]] = [set() for _ in range(len(tests))]
        for row, store in zip(rows.tolist(), stores.tolist(), strict=True):
            sets[row].add(store)
        return [frozenset(found) for found in sets]
