"""Calling contexts, calls per activation, heap bytes and the tool's plan, against plain twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyperf.collect.dependences.heap import HeapChanges, heap_changes
from whyperf.collect.dependences.instruments import (
    HeapUse,
    Instruments,
    Mode,
    WatchedFunction,
    WatchedModule,
    WatchedReader,
    WatchedVariable,
    read_text,
    to_text,
)
from whyperf.collect.dependences.stream import HEAP
from whyperf.seal.dependences.contexts import calling_contexts, fanouts

Activations = list[tuple[int, int]]  # parent row or -1, function


@st.composite
def activations(draw: st.DrawFn) -> Activations:
    made: Activations = []
    for row in range(draw(st.integers(0, 30))):
        made.append((draw(st.integers(-1, row - 1)), draw(st.integers(0, 4))))
    return made


def chain(made: Activations, row: int) -> tuple[int, ...]:
    """The functions above and of an activation, where one that recurs cuts what was called since."""
    parent, function = made[row]
    above = chain(made, parent) if parent >= 0 else ()
    return above[: above.index(function) + 1] if function in above else (*above, function)


@given(activations())
def test_contexts_are_chains_of_functions(made: Activations) -> None:
    parent = np.array([p for p, _ in made], np.int64)
    contexts = calling_contexts(parent, np.array([f for _, f in made], np.int64))
    chains = [chain(made, row) for row in range(len(made))]
    assert len(set(chains)) == len(contexts.parent)
    assert np.all(contexts.parent < np.arange(len(contexts.parent)))

    def named(context: int) -> tuple[int, ...]:
        above = int(contexts.parent[context])
        return (*(named(above) if above >= 0 else ()), int(contexts.function[context]))

    assert [named(int(context)) for context in contexts.of_activation] == chains


@given(activations())
def test_calls_per_activation_are_counted(made: Activations) -> None:
    parent = np.array([p for p, _ in made], np.int64)
    contexts = calling_contexts(parent, np.array([f for _, f in made], np.int64))
    spread = fanouts(parent, contexts)
    made_by: Counter[tuple[int, int]] = Counter()
    for row, (caller, _) in enumerate(made):
        recurs = caller >= 0 and chain(made, row)[:-1] != chain(made, caller)
        if caller >= 0 and not recurs:
            made_by[caller, int(contexts.of_activation[row])] += 1
    expected = Counter((context, times) for (_, context), times in made_by.items())
    found = zip(spread.context.tolist(), spread.times.tolist(), spread.activations.tolist(), strict=True)
    assert {(context, times): activations for context, times, activations in found} == expected


def test_many_calls_are_rounded_to_eight_digits() -> None:
    count = 100_000
    parent = np.concatenate([[-1], np.zeros(count, np.int64)])
    spread = fanouts(parent, calling_contexts(parent, np.concatenate([[0], np.ones(count, np.int64)])))
    [times] = spread.times.tolist()
    assert abs(times - count) <= count / 256


def test_the_heap_is_judged_where_most_is_in_use() -> None:
    # GIVEN a program that holds 300 bytes at once, and frees all of it
    amount = np.array([100, 100, -100, 200, -200, 50, -100, -50])
    changes = HeapChanges(np.arange(8), amount, np.array([-1, -1, 0, -1, 3, -1, 1, 5]))
    peak = changes.until_peak()
    assert (peak.amount.sum(), len(peak.amount)) == (300, 4)
    # THEN of those, what was free by then is not counted
    assert sorted(set(range(4)) - set(peak.allocated_by.tolist()) - {2}) == [1, 3]
    nothing = np.zeros(0, np.int64)
    assert len(HeapChanges(nothing, nothing, nothing).until_peak().amount) == 0


def test_the_heaps_changes() -> None:
    names = {0: "malloc", 1: "free", 2: "realloc", 3: "calloc"}
    rows = [  # function, arguments, result, whether it returned
        (0, 100, 0, 0x10, 1),
        (3, 4, 25, 0x20, 1),
        (2, 0x10, 300, 0x30, 1),  # moved: 100 bytes back, 300 anew
        (2, 0x20, 1 << 60, 0, 1),  # failed: nothing changed
        (1, 0x30, 0, 0, 1),
        (1, 0x99, 0, 0, 1),  # unknown
        (0, 50, 0, 0x40, 0),  # never returned
        (0, 7, 0, 0x50, 1),  # from within another of them
    ]
    calls = np.zeros(len(rows), HEAP)
    for row, (function, one, other, result, returned) in enumerate(rows):
        calls[row] = (function, 1, row, 0, one, other, 0, result, returned)
    inner = np.arange(len(rows)) == len(rows) - 1
    changes = heap_changes(calls, names, inner)
    assert list(zip(changes.region.tolist(), changes.amount.tolist(), strict=True)) == [
        (0, 100),
        (1, 100),
        (2, -100),
        (2, 300),
        (4, -300),
    ]
    assert changes.allocated_by.tolist() == [-1, -1, 0, -1, 3]


ADDRESSES = st.integers(0, (1 << 48) - 1)


@st.composite
def instruments(draw: st.DrawFn) -> Instruments:
    names = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1)
    modules = draw(st.lists(st.builds(WatchedModule, names, st.sampled_from(["", "ab12"])), max_size=3))
    functions: list[WatchedFunction] = []
    variables: list[WatchedVariable] = []
    readers: list[WatchedReader] = []
    ranges = st.lists(st.tuples(ADDRESSES, ADDRESSES), max_size=2).map(tuple)
    for number in range(len(modules)):
        one = st.builds(
            WatchedFunction, st.just(number), ADDRESSES, ranges, st.sampled_from(Mode), st.sampled_from(HeapUse)
        )
        functions += draw(st.lists(one, max_size=3))
        place = st.builds(WatchedVariable, st.just(number), ADDRESSES, st.sampled_from([1, 2, 4, 8]))
        variables += draw(st.lists(place, max_size=2))
        reader = st.builds(WatchedReader, st.just(number), ADDRESSES, st.integers(0, 64), st.integers(1, 1 << 30))
        readers += draw(st.lists(reader, max_size=2))
    watched = tuple(modules), tuple(functions), tuple(variables)
    return Instruments(*watched, draw(st.booleans()), draw(st.integers(0, 1 << 30)), tuple(readers))


@given(instruments())
def test_plans_are_read_as_they_were_written(plan: Instruments) -> None:
    assert read_text(to_text(plan)) == plan
