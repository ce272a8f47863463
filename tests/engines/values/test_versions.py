"""Two builds of one program: what was renamed, moved, split or inlined is recognised, or is no anomaly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.made import recording
from tests.engines.values.made import Read, with_values
from whyperf.engines.run import Run
from whyperf.engines.values.compare import compare
from whyperf.engines.values.kinds import ValueKind
from whyperf.engines.values.variable_test import VariableStatus
from whyperf.engines.values.variables import Variable, declaration_of, match, match_exactly, match_renamed

N = 400


def build(stack, *reads, build_id="", **more):
    """A function of a random generator to a run; values are functions of it, too."""

    def make(seed):
        rng = np.random.default_rng(seed)
        made = with_values(
            recording([(stack, N / 200)], **more), *(replace(one, values=one.values(rng)) for one in reads)
        )
        modules = made.table("modules")
        ids = pa.array([build_id] * modules.num_rows)
        tables = {**made.tables, "modules": modules.set_column(3, modules.schema.field(3), ids)}
        return Run(replace(made, tables=tables))

    return [make(seed) for seed in range(3)]


def between(low, high):
    return lambda rng: rng.integers(low, high, N)


def names(values):
    return [one.variable.name for one in values.abnormal]


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["x"])])
def test_a_moved_function_is_the_same(high, expected):
    # GIVEN work declared 100 lines further down in another folder
    good = build(("main@5", "work@20"), Read("work", "x", between(0, 50)), build_id="a")
    bad = build(
        ("main@5", "work@120"),
        Read("work", "x", between(0, high)),
        build_id="b",
        declared={"work": 110},
        folder="/build/v2",
    )
    assert names(compare(good, bad)) == expected


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["x"])])
def test_a_renamed_function_is_the_same(high, expected):
    good = build(("main@5", "work@20"), Read("work", "x", between(0, 50)), build_id="a")
    bad = build(("main@5", "toil@20"), Read("toil", "x", between(0, high)), build_id="b")
    assert names(compare(good, bad)) == expected


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["y"])])
def test_a_renamed_variable_is_the_same(high, expected):
    good = build(("main@5",), Read("main", "x", between(0, 50)), build_id="a")
    bad = build(("main@5",), Read("main", "y", between(0, high)), build_id="b")
    assert names(compare(good, bad)) == expected


def test_within_one_build_nothing_is_renamed():
    good = build(("main@5",), Read("main", "x", between(0, 50)), build_id="a")
    bad = build(("main@5",), Read("main", "y", between(0, 500)), build_id="a")
    found = compare(good, bad)
    assert names(found) == []
    assert {one.status for one in found.outcomes} == {VariableStatus.NEW}


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["x"])])
def test_a_split_function_keeps_its_variables(high, expected):
    # GIVEN the half of work that held x moved into a function of its own
    good = build(("main@5", "work@20"), Read("work", "x", between(0, 50)), build_id="a")
    bad = build(("main@5", "work@20", "half@40"), Read("half", "x", between(0, high)), build_id="b")
    assert names(compare(good, bad)) == expected
    assert names(compare(bad, good)) == expected  # and joined again


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["x"])])
def test_a_newly_inlined_function_keeps_its_variables(high, expected):
    good = build(("main@5", "work@20"), Read("work", "x", between(0, 50)), build_id="a")
    bad = build(("main@5", "~work@20"), Read("work", "x", between(0, high)), build_id="b")
    assert names(compare(good, bad)) == expected


@pytest.mark.parametrize(("high", "expected"), [(50, []), (500, ["x"])])
def test_lines_that_correspond_to_nothing_are_pooled(high, expected):
    # GIVEN a function rewritten so that no line is where it was
    good = build(("main@5", "work@20"), Read("work", "x", between(0, 50)), build_id="a")
    bad = build(("main@5", "work@27"), Read("work", "x", between(0, high)), build_id="b")
    assert names(compare(good, bad)) == expected


def variable(name, order, type_="int", kind=ValueKind.SIGNED):
    return Variable(0, name, type_, kind, "local", order, frozenset(), "", 0)


def test_shadowed_names_are_told_apart_by_order():
    both = [variable("i", 1), variable("i", 4)]
    assert match(both, both) == {0: 0, 1: 1}


def test_a_declaration_added_above_moves_all_orders():
    assert match([variable("i", 3), variable("i", 5)], [variable("i", 5), variable("i", 7)]) == {0: 0, 1: 1}


def test_a_run_in_which_only_one_of_two_was_read():
    assert match([variable("i", 3), variable("i", 5)], [variable("i", 5)]) == {0: 1}


def test_a_changed_type_is_the_same_variable_where_the_name_is_unique():
    assert match([variable("n", 1)], [variable("n", 2, "long")]) == {0: 0}
    assert match([variable("n", 1)], [variable("n", 1, "int *", ValueKind.POINTER)]) == {}


def test_swapped_declarations_keep_their_types():
    known = [variable("a", 0), variable("a", 1, "long")]
    assert match(known, [variable("a", 0, "long"), variable("a", 1)]) == {0: 1, 1: 0}


def test_what_lies_behind_a_renamed_pointer_goes_with_it():
    pointer = {"type_": "struct s *", "kind": ValueKind.POINTER}
    known = [variable("p", 0, **pointer), variable("p->n", 0), variable("*q", 0), variable("n", 0)]
    found = [variable("here", 0, **pointer), variable("here->n", 0), variable("*q", 0), variable("n", 0)]
    matches = match(known, found)
    assert matches == {2: 2, 3: 3}
    assert match_renamed(known, found, matches) == {0: 0, 1: 1}


def test_a_variable_that_only_came_or_changed_its_type_is_not_a_renamed_one():
    known, found = [variable("a", 0), variable("b", 0)], [variable("a", 0), variable("c", 0), variable("b", 0)]
    assert match_renamed(known, found, match(known, found)) == {}
    known, found = [variable("a", 0), variable("x", 0)], [variable("a", 0), variable("y", 0, "double", ValueKind.FLOAT)]
    assert match_renamed(known, found, match(known, found)) == {}


declared = st.lists(
    st.builds(variable, st.sampled_from("abc"), st.integers(0, 4), st.sampled_from(["int", "long"])), max_size=8
)


@given(declared, declared)
def test_the_short_way_to_match_finds_the_same(known, found):
    by_declaration = {declaration_of(one): at for at, one in enumerate(known)}
    matches = match_exactly(by_declaration, found)
    if len(set(matches.values())) == len(found):
        assert matches == match(known, found)
