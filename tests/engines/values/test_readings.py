"""From tables to sequences: kinds, deltas, how long values stay, whose activation it was."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from tests.engines.values.made import Read, one_function, with_values
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values.kinds import Dimension, ValueKind, from_floats, numbers, ordered, to_floats, written
from whyperf.engines.values.loading import SideReadings
from whyperf.engines.values.readings import sequences
from whyperf.engines.values.timeline import timeline
from whyperf.engines.values.variables import VariableIndex

ALL = tuple(Dimension)


def read(*runs, name="x", kind=ValueKind.SIGNED):
    side = [Run(one) for one in runs]
    functions = FunctionIndex(side, side)
    variables = VariableIndex(functions)
    number = next(n for n, variable in enumerate(variables.variables) if variable.name == name)
    loaded = SideReadings(side, functions, variables).load(range(len(variables.variables)))
    dimensions = ALL if kind.numeric else kind.dimensions
    return sequences(loaded.of(number), loaded.succession(number), kind, dimensions)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_floats_are_ordered_as_integers(values):
    array = np.array(values)
    codes = from_floats(array)
    assert np.array_equal(to_floats(codes), array)
    in_order = array[np.argsort(codes, kind="stable")]
    assert np.all(in_order[1:] >= in_order[:-1])


def test_every_kind_sorts_as_its_values_do():
    raw = np.array([-1, 0, 5], np.int64)
    assert np.argsort(ordered(ValueKind.UNSIGNED, raw)).tolist() == [1, 2, 0]
    assert numbers(ValueKind.UNSIGNED, ordered(ValueKind.UNSIGNED, raw)).tolist() == [2.0**64 - 1, 0.0, 5.0]
    assert numbers(ValueKind.SIGNED, ordered(ValueKind.SIGNED, raw)).tolist() == [-1.0, 0.0, 5.0]
    heap, null = (2 << 56) | 1234, 0
    assert [written(ValueKind.POINTER, one) for one in ordered(ValueKind.POINTER, np.array([heap, null]))] == [
        "on the heap",
        "null",
    ]


def test_values_deltas_and_durations_of_one_thread():
    found = read(one_function(Read("work", "x", [3, 6, 6, 6, 9]), samples=5))
    assert found[Dimension.VALUE].codes.tolist() == [3, 6, 6, 6, 9]
    assert found[Dimension.DELTA].codes.tolist() == [3, 0, 0, 3]
    assert found[Dimension.DURATION].codes.tolist() == [1, 3, 1]


def test_runs_do_not_run_into_each_other():
    one, two = (one_function(Read("work", "x", [7, 7]), samples=2) for _ in range(2))
    found = read(one, two)
    assert found[Dimension.DURATION].codes.tolist() == [2, 2]
    assert found[Dimension.DURATION].starts.tolist() == [0, 1, 2]
    assert found[Dimension.DELTA].codes.tolist() == [0, 0]
    assert found[Dimension.DELTA].starts.tolist() == [0, 1, 2]


def test_a_value_does_not_outlast_its_activation():
    # GIVEN work called twice, something else in between, with the same value
    stacks = [(("main@5", "work@20"), 0.01), (("main@6", "other@9"), 0.005), (("main@5", "work@20"), 0.01)]
    made = with_values(recording(stacks), Read("work", "x", [7, 7, 7, 7]), Read("main", "y", [1] * 5))
    # THEN it stayed twice for two samples, while main's stayed throughout
    assert read(made)[Dimension.DURATION].codes.tolist() == [2, 2]
    assert read(made, name="y")[Dimension.DURATION].codes.tolist() == [5]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=30))
def test_durations_equal_a_walk_through_the_samples(steps):
    # GIVEN samples in which main calls f or g, f calls h, with a value of f
    shapes = [("main@5", "f@20"), ("main@6", "f@20"), ("main@5", "f@21", "h@30"), ("main@7", "g@40")]
    made = recording([(shapes[shape], 0.005) for shape, _ in steps], also=["f"])
    if all(shape == 3 for shape, _ in steps):
        return
    values = [value for shape, value in steps if shape != 3]
    found = read(with_values(made, Read("f", "x", values)))[Dimension.DURATION].codes.tolist()

    # WHEN the same is done sample by sample: f's caller is the place in main
    expected, latest = [], None
    for shape, value in steps:
        if shape == 3:
            latest = None
            continue
        now = (shapes[shape][0], value)
        if now == latest:
            expected[-1] += 1
        else:
            expected.append(1)
        latest = now
    assert found == expected


def test_samples_outside_the_window_and_not_a_number_do_not_count():
    bits = np.array([1.5, np.nan, 2.5, 3.5]).view(np.int64)
    made = one_function(Read("work", "x", bits, kind="float"), samples=4)
    found = read(made, kind=ValueKind.FLOAT)
    assert numbers(ValueKind.FLOAT, found[Dimension.VALUE].codes).tolist() == [1.5, 2.5, 3.5]
    when = timeline(Run(made))
    assert when.counted.all()
    assert len(when) == 4


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), max_size=4), min_size=2, max_size=30))
def test_frames_that_all_stacks_between_two_samples_share_are_counted_one_by_one(stacks):
    paths = [("main", *stack) for stack in stacks]
    when = timeline(Run(recording([(path, 1 / 200) for path in paths])))
    pairs = [(one, other) for one in range(len(paths)) for other in range(one + 1, len(paths))]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    expected = []
    for one, other in pairs:
        shared = list(takewhile(lambda words: len(set(words)) == 1, zip(*paths[one : other + 1], strict=False)))
        expected.append(len(shared))
    assert when.fewest_shared(first, second).tolist() == expected
