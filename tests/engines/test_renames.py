"""Declarations that have new names, told by their neighbours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whyperf.engines.renames import Declaration, renamed


def declared(text: str, *common: str) -> list[Declaration]:
    return [Declaration(name if name in common else None, "function") for name in text.split()]


def test_one_name_between_the_same_neighbours() -> None:
    assert renamed(declared("a old b", "a", "b"), declared("a new b", "a", "b")) == {1: 1}
    assert renamed(declared("old b", "b"), declared("new b", "b")) == {0: 0}


def test_several_are_taken_in_order() -> None:
    assert renamed(declared("a o1 o2 b", "a", "b"), declared("a n1 n2 b", "a", "b")) == {1: 1, 2: 2}


def test_what_only_came_or_went_is_not_renamed() -> None:
    assert renamed(declared("a b", "a", "b"), declared("a new b", "a", "b")) == {}
    assert renamed(declared("a old b", "a", "b"), declared("a n1 n2 b", "a", "b")) == {}
    assert renamed(declared("old a b", "a", "b"), declared("a b new", "a", "b")) == {}


def test_kinds_do_not_change() -> None:
    assert renamed([Declaration(None, "int")], [Declaration(None, "double")]) == {}
    before = [Declaration(None, "int"), Declaration(None, "double")]
    assert renamed(before, [before[1], before[0]]) == {0: 1, 1: 0}


@given(st.lists(st.integers(0, 30), unique=True, max_size=20), st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_renaming_alone_is_always_undone(order: list[int], new: set[int], kinds: set[int]) -> None:
    before = [Declaration(None if one in new else one, one in kinds) for one in order]
    found = renamed(before, before)
    assert found == {at: at for at, one in enumerate(order) if one in new}
