"""Values are compared where they were read: at the same line, waiting for the same function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.made import recording
from tests.engines.values.made import Read, with_values
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.findings import findings
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.loading import SideReadings
from whyperf.engines.values.matched_lines import match_lines
from whyperf.engines.values.readings import NO_CALLEE, Sequence
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.variable_test import VariableStatus, examine_dimension
from whyperf.engines.values.variables import VariableIndex

SMALL, LARGE = (0, 50), (900, 950)


def dispatching(share, *, first=0, small=SMALL, split=True):
    """Three runs of a dispatcher whose `command` is large in this share of its samples, where it calls set.

    Not `split`: whatever the command, it calls get.
    """
    runs = []
    for seed in range(first, first + 3):
        rng = np.random.default_rng(seed)
        large = rng.random(400) < share
        called = np.where(large & split, "set@40", "get@30").tolist()
        values = np.where(large, rng.integers(*LARGE, 400), rng.integers(*small, 400))
        made = recording([(("main@5", "serve@12", word), 1 / 200) for word in called])
        runs.append(Run(with_values(made, Read("serve", "command", values, roles="condition"))))
    return runs


def by_value(values):
    return next(test for test in values.outcomes[0].tests if test.dimension is Dimension.VALUE)


class TestOneLineThatCallsEverything:
    def test_another_callee_that_takes_the_time_is_no_anomaly(self):
        found = compare(dispatching(0.2), dispatching(0.8, first=9))
        assert by_value(found).status is VariableStatus.SAME
        assert not found.anomaly

    def test_without_the_callee_it_would_be(self):
        # GIVEN the same values, all of them waiting for one function
        found = compare(dispatching(0.2, split=False), dispatching(0.8, first=9, split=False))
        assert by_value(found).status in (VariableStatus.TESTED, VariableStatus.APART)

    def test_a_value_that_moved_under_one_callee_is(self):
        found = compare(dispatching(0.2), dispatching(0.2, first=9, small=(200, 250)))
        assert [one.variable.name for one in found.abnormal] == ["command"]
        assert found.abnormal[0].dimension is Dimension.VALUE


def places(*pairs, codes=None):
    line, callee = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    codes = np.zeros(len(line), np.int64) if codes is None else np.array(codes, np.int64)
    return Sequence(codes, line, callee, np.zeros(len(line), np.int64), np.array([0, len(line)]))


PLACES = st.lists(st.tuples(st.integers(-3, 3), st.integers(NO_CALLEE, 3)), min_size=1, max_size=30)


@pytest.mark.thorough
@settings(deadline=None)
@given(PLACES, PLACES, st.integers(1, 10**6))
def test_each_place_has_the_same_share_on_both_sides(good, bad, scale):
    # GIVEN readings at any places, with lines near each other or far apart
    good, bad = ([(line * scale, callee) for line, callee in side] for side in (good, bad))
    matched = match_lines(places(*good), places(*bad), fallback_below=0.0)
    # THEN just the common ones are left
    common = set(good) & set(bad)
    assert (matched is None) == (not common)
    if matched is None:
        return
    assert len(matched.good) == sum(place in common for place in good)
    assert len(matched.bad) == sum(place in common for place in bad)
    # AND weigh on both sides what they weigh in the mix
    assert matched.share.sum() == pytest.approx(1.0)
    for side, all_of_it in ((matched.good, good), (matched.bad, bad)):
        weighed = np.bincount(side.line, side.weight[side.line], len(matched.share)) / len(all_of_it)
        assert weighed == pytest.approx(matched.share)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_where_samples_land_decides_nothing(seed, here, there):
    # GIVEN a value that only depends on the callee, however often each is waited for
    rng = np.random.default_rng(seed)
    sides = []
    for share in (here, there):
        callee = (rng.random(600) < share).astype(np.int64)
        sides.append(places(*((1, one) for one in callee), codes=1000 * callee + 7))
    found = examine_dimension(Dimension.VALUE, *sides, ValuesSettings(), same_text=True)
    assert found.status is VariableStatus.SAME


WORDS = st.lists(st.sampled_from(["a", "b", "c", "~d"]), max_size=6).map(lambda words: ["main", *words])


def callee_by_hand(words):
    """Of the innermost a: the word that begins the next out-of-line function."""
    starts = [at for at, word in enumerate(words) if not word.startswith("~")]
    mine = len(words) - 1 - words[::-1].index("a")
    return next((words[at] for at in starts if at > mine), None)


@settings(max_examples=50, deadline=None)
@given(st.lists(WORDS.filter(lambda words: "a" in words), min_size=1, max_size=8))
def test_the_callee_is_the_next_function_inwards(stacks):
    made = with_values(recording([(words, 0.005) for words in stacks]), Read("a", "x", np.arange(len(stacks))))
    run = Run(made)
    functions = FunctionIndex([run], [run])
    variables = VariableIndex(functions)
    readings = SideReadings([run], functions, variables).of(0)
    names = [None if one == NO_CALLEE else functions.functions[one].key.name for one in readings.callee.tolist()]
    assert names == [callee_by_hand(words) for words in stacks]


def inlining(value):
    """Three runs in which what work holds was read at an address of what a library's header inlined into it."""
    made = recording([(("main@5", "work@20", "~hdr:std::find@612"), 1.0)])
    made = with_values(made, Read("work", "limit", [value] * 200, roles="condition"))
    frames = made.table("frames").to_pylist()
    innermost = next(row["frame"] for row in frames if row["line"] == 612)
    values = made.table("values")
    column = values.schema.get_field_index("frame")
    read = pa.array([innermost] * values.num_rows, values.schema.field(column).type)
    return replace(made, tables={**made.tables, "values": values.set_column(column, "frame", read)})


def test_a_place_is_a_line_of_the_variables_own_function():
    # GIVEN readings at an address where another function, of another file, is inlined
    good, bad = ([Run(inlining(value)) for _ in range(3)] for value in (3, 3_600))
    # WHEN the variable is shown
    (one,) = compare(good, bad).abnormal
    # THEN with the line and file of its own function
    assert {(place.file, place.line) for place in one.contrast.read_at} == {("/src/tool.c", 20)}


def test_a_grown_number_that_a_condition_looks_at_is_not_called_a_bound():
    good, bad = ([Run(inlining(value)) for _ in range(3)] for value in (0, 3_600))
    (finding,) = findings(compare(good, bad))
    assert "a condition looks at limit, which grew" in finding.why
    assert "bound" not in finding.why
