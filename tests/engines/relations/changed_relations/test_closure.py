"""Closures against a plain twin, on random small traces; and that recurrences do not make them degenerate."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.relations.machine import Machine
from whyperf.engines.relations.changed_relations.closure import Closures
from whyperf.engines.relations.changed_relations.decisions import Trials
from whyperf.engines.relations.executions.catalogue import Catalogue, CataloguedFunction, InlinedLine
from whyperf.engines.relations.executions.loading import load
from whyperf.engines.relations.executions.trace import ExecutionTrace
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.run import Run
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.schemas.deep_tables import DependenceKind

SITES = 5
SETTINGS = replace(RelationsSettings(), copies_per_closure=3, producers_max=12, first_hop_steps=8)


@st.composite
def traces(draw: st.DrawFn) -> tuple[ExecutionTrace, Catalogue]:
    events = draw(st.integers(1, 40))
    inputs = [
        draw(st.lists(st.tuples(st.integers(-1, event - 1), st.sampled_from((0, 1, 2))), max_size=3)) if event else []
        for event in range(events)
    ]
    regions = draw(st.integers(1, 8))
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, regions))]
    region = draw(st.lists(st.integers(0, regions - 1), min_size=events, max_size=events))
    ends = np.cumsum([0, *(len(one) for one in inputs)])
    flat = [one for row in inputs for one in row]
    trace = ExecutionTrace(
        site=np.array(draw(st.lists(st.integers(0, SITES - 1), min_size=events, max_size=events)), np.int32),
        region=np.array(region, np.int32),
        first_input=ends.astype(np.int64),
        producer=np.array([source for source, _ in flat], np.int32),
        through=np.array([kind for _, kind in flat], np.int8),
        label=np.zeros(regions, np.int32),
        parent=np.array(parent, np.int32),
        opener=np.full(regions, -1, np.int32),
        last=np.full(regions, -1, np.int32),
        instructions=np.zeros(regions, np.int64),
        activation=np.array([node % 2 if node % 3 else -1 for node in range(regions)], np.int32),
        updated=np.empty(0, np.int32),
        amount=np.empty(0, np.int64),
        ends=np.empty(0, np.int32),
    )
    flags = [np.array(draw(st.lists(st.booleans(), min_size=SITES, max_size=SITES)), np.bool_) for _ in range(3)]
    functions = tuple(CataloguedFunction(FunctionKey("tool", name, ""), "a.c", 1) for name in ("f", "g"))
    catalogue = Catalogue(
        functions=functions,
        places=tuple(InlinedLine(0, 0, "a.c", line) for line in range(SITES)),
        classes=(),
        site_function=np.zeros(SITES, np.int32),
        site_place=np.arange(SITES, dtype=np.int32),
        header_line={},
        site_kind=np.zeros(SITES, np.int8),
        copies=flags[0],
        spills=flags[1],
        loads=np.zeros(SITES, np.bool_),
        nameless=flags[2],
        entry=np.zeros(SITES, np.bool_),
        decisions=(),
        exits=frozenset(),
    )
    return trace, catalogue


def inputs_of(trace: ExecutionTrace, event: int) -> list[tuple[int, int]]:
    rows = range(int(trace.first_input[event]), int(trace.first_input[event + 1]))
    return [(int(trace.producer[row]), int(trace.through[row])) for row in rows if trace.producer[row] >= 0]


def plain_closure(trace: ExecutionTrace, catalogue: Catalogue, test: int) -> list[int]:
    found: list[int] = []
    seen, times = {test}, Counter[int]()
    for event in iter_growing(test, found):
        for source, kind in inputs_of(trace, event):
            site = int(trace.site[source])
            if source in seen or kind == DependenceKind.OLD:
                continue
            seen.add(source)
            if times[site] < (SETTINGS.copies_per_closure if catalogue.copies[site] else 1):
                times[site] += 1
                found.append(source)
    return found[: SETTINGS.producers_max]


def iter_growing(first: int, found: list[int]):  # type: ignore[no-untyped-def]
    yield first
    at = 0
    while at < len(found):
        yield found[at]
        at += 1


@pytest.mark.thorough
@given(traces())
def test_closure_is_that_of_the_plain_twin(made: tuple[ExecutionTrace, Catalogue]) -> None:
    trace, catalogue = made
    closures = Closures(trace, catalogue, frozenset(), SETTINGS)
    for test in range(trace.events):
        assert closures.producers(test) == plain_closure(trace, catalogue, test)


@pytest.mark.thorough
@given(traces(), st.data())
def test_origins_count_each_group_once(made: tuple[ExecutionTrace, Catalogue], data: st.DataObject) -> None:
    trace, catalogue = made
    chosen = data.draw(st.lists(st.integers(0, trace.events - 1), min_size=1, max_size=6))
    group = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(chosen), max_size=len(chosen))))
    loop = data.draw(st.lists(st.integers(-1, len(trace.parent) - 1), min_size=len(chosen), max_size=len(chosen)))
    weight = np.array([1.0, 10.0, 100.0])
    tests = Trials(np.array(chosen, np.int32), np.array(group, np.int32), np.array(loop, np.int32), 3)
    found = Closures(trace, catalogue, frozenset(), SETTINGS).origins(tests, weight)

    def around(region: int) -> list[int]:
        chain = [region]
        while trace.parent[chain[-1]] >= 0:
            chain.append(int(trace.parent[chain[-1]]))
        return chain

    having: dict[int, set[int]] = {slot: set() for slot in range(SITES + 2)}
    for test, number, outer in zip(chosen, group, loop, strict=True):
        own = around(int(trace.region[test]))
        for event in plain_closure(trace, catalogue, test):
            site, chain = int(trace.site[event]), around(int(trace.region[event]))
            if catalogue.nameless[site] or outer in chain:
                continue
            having[site].add(number)
            for region in [one for one in chain if trace.activation[one] >= 0][: SETTINGS.producer_callers]:
                if region not in own:
                    having[SITES + int(trace.activation[region])].add(number)
    assert found.weight.tolist() == [sum(weight[number] for number in having[slot]) for slot in range(SITES + 2)]
    assert found.groups.tolist() == [len(having[slot]) for slot in range(SITES + 2)]


@pytest.mark.thorough
@given(traces())
def test_first_hop_is_that_of_the_plain_twin(made: tuple[ExecutionTrace, Catalogue]) -> None:
    trace, catalogue = made
    closures = Closures(trace, catalogue, frozenset(), SETTINGS)
    expected = []
    for test in range(trace.events):
        seen, queue, stores = {test}, [test], set()
        for event in queue:
            for source, kind in inputs_of(trace, event):
                if source in seen:
                    continue
                seen.add(source)
                site = int(trace.site[source])
                constant = trace.first_input[source] == trace.first_input[source + 1]
                stored = kind == DependenceKind.MEMORY and not catalogue.spills[site]
                if constant or stored or kind == DependenceKind.OLD:
                    stores.add((site, -1))
                elif len(queue) <= SETTINGS.first_hop_steps:
                    queue.append(source)
        expected.append(frozenset(stores))
    assert closures.first_hop(np.arange(trace.events, dtype=np.int32)) == expected


def test_recurrence_does_not_reach_all_earlier_iterations() -> None:
    machine = Machine()
    with machine.call("main"):
        total = machine.constant(0, line=3)
        for _ in machine.rounds(1000, line=4):
            total = machine.compute(total.value + 1, total, line=5)
        test = machine.test(total, line=6)
    run = Run(machine.recording())
    zoomed = load([run], [run])
    closures = Closures(zoomed.bad, zoomed.catalogue, frozenset(), RelationsSettings())
    assert len(closures.producers(test)) == 1
