"""Compiled passes against plain twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyperf.engines.grouping import grouped
from whyperf.engines.relations.executions.tree_passes import (
    children_per_parent,
    depths,
    distinct,
    inclusive,
    last_events,
    nearest_above,
    ordinals,
    within_same,
)

LABELS = 4


@st.composite
def trees(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Parents, some of them roots, and labels."""
    size = draw(st.integers(1, 40))
    parent = [draw(st.integers(-1, node - 1)) for node in range(size)]
    label = draw(st.lists(st.integers(0, LABELS - 1), min_size=size, max_size=size))
    return np.array(parent, np.int32), np.array(label, np.int32)


def above(parent: np.ndarray, node: int) -> list[int]:
    """The nodes around one, innermost first: the chain that everything else rests on."""
    found = []
    while parent[node] >= 0:
        node = int(parent[node])
        found.append(node)
    return found


@given(st.lists(st.integers(-1, 5), max_size=60))
def test_rows_are_grouped_in_their_order(keys: list[int]) -> None:
    start, order = grouped(np.array(keys, np.int32), 6)
    for group in range(6):
        rows = order[start[group] : start[group + 1]].tolist()
        assert rows == [row for row, key in enumerate(keys) if key == group]


@given(trees())
def test_inclusive_adds_up_everything_below(tree: tuple[np.ndarray, np.ndarray]) -> None:
    parent, label = tree
    own = label + 1.0
    expected = own.copy()
    for node in range(len(parent)):
        for around in above(parent, node):
            expected[around] += own[node]
    assert inclusive(parent, own).tolist() == expected.tolist()


@given(trees())
def test_recursion_is_seen(tree: tuple[np.ndarray, np.ndarray]) -> None:
    parent, label = tree
    start, order = grouped(parent, len(parent))
    expected = [any(label[around] == label[node] for around in above(parent, node)) for node in range(len(parent))]
    assert within_same(parent, label, LABELS, start, order).tolist() == expected


@given(trees())
def test_children_are_counted_by_parent_and_label(tree: tuple[np.ndarray, np.ndarray]) -> None:
    parent, label = tree
    start, order = grouped(parent, len(parent))
    labels, times = children_per_parent(start, order, label, LABELS)
    per_parent = Counter((int(parent[node]), int(label[node])) for node in range(len(parent)) if parent[node] >= 0)
    expected = Counter((one, count) for (_, one), count in per_parent.items())
    assert Counter(zip(labels.tolist(), times.tolist(), strict=True)) == expected


@given(trees())
def test_chains_and_ordinals(tree: tuple[np.ndarray, np.ndarray]) -> None:
    parent, label = tree
    chosen = label == 0
    assert depths(parent).tolist() == [len(above(parent, node)) for node in range(len(parent))]
    nearest = [next((one for one in (node, *above(parent, node)) if chosen[one]), -1) for node in range(len(parent))]
    assert nearest_above(parent, chosen).tolist() == nearest
    for node, ordinal in enumerate(ordinals(parent, chosen).tolist()):
        counted = chosen[node] and parent[node] >= 0
        siblings = sum(bool(chosen[one]) and parent[one] == parent[node] for one in range(node + 1))
        assert ordinal == (siblings if counted else 0)


@given(trees(), st.data())
def test_last_event_within_each_region(tree: tuple[np.ndarray, np.ndarray], data: st.DataObject) -> None:
    parent, _ = tree
    region = np.array(data.draw(st.lists(st.integers(-1, len(parent) - 1), max_size=30)), np.int32)
    expected = [-1] * len(parent)
    for event, inner in enumerate(region.tolist()):
        for around in (inner, *above(parent, inner)) if inner >= 0 else ():
            expected[around] = event
    assert last_events(parent, region).tolist() == expected


@given(st.lists(st.integers(0, 2**50), max_size=3000))
def test_distinct_numbers_keys_in_order_of_appearance(keys: list[int]) -> None:
    found, number = distinct(np.array(keys, np.int64))
    assert found.tolist() == list(dict.fromkeys(keys))
    assert [found[one] for one in number] == keys


def test_distinct_grows() -> None:
    keys = np.arange(100_000, dtype=np.int64) * 1024
    found, number = distinct(np.concatenate([keys, keys[::-1]]))
    assert np.array_equal(found, keys)
    assert np.array_equal(number[100_000:], np.arange(100_000)[::-1])
