"""What is done once per event or per region, compiled: everything here is linear in its input. Columns as long as that
are made outside of what is compiled: only those can be in files (`recording/file_backed.py`)."""

from __future__ import annotations

import numpy as np

from whyperf.engines.arrays import Bools, Floats, Int32s, Ints
from whyperf.engines.compiled import njit


def inclusive(parent: Int32s, own: Floats) -> Floats:
    """What every node holds together with everything below it; parents come before children."""
    total = own.copy()
    _add_upward(parent, total)
    return total


@njit(cache=True, nogil=True)
def _add_upward(parent: Int32s, total: Floats) -> None:
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            total[parent[node]] += total[node]


def within_same(parent: Int32s, label: Int32s, labels: int, start: Ints, order: Int32s) -> Bools:
    """Whether a node lies below another of its label: what it holds is already counted there.

    `start` and `order` are the children of every node, as `grouped(parent)` gives them.
    """
    below = np.zeros(len(parent), np.bool_)
    stack = np.empty(len(parent) + 1, np.int32)
    _find_within(parent, label, np.zeros(labels, np.int32), start, start[:-1].copy(), order, stack, below)
    return below


@njit(cache=True, nogil=True)
def _find_within(  # noqa: PLR0917 -- columns
    parent: Int32s,
    label: Int32s,
    open_now: Int32s,
    start: Ints,
    next_child: Ints,
    order: Int32s,
    stack: Int32s,
    below: Bools,
) -> None:
    """`open_now`: by label; `next_child`: by node, its `start`; `stack`: room for all nodes."""
    for root in range(len(parent)):
        if parent[root] >= 0:
            continue
        stack[0], depth = root, 1
        open_now[label[root]] += 1
        while depth:
            node = stack[depth - 1]
            if next_child[node] < start[node + 1]:
                child = order[next_child[node]]
                next_child[node] += 1
                below[child] = open_now[label[child]] > 0
                open_now[label[child]] += 1
                stack[depth] = child
                depth += 1
            else:
                open_now[label[node]] -= 1
                depth -= 1


def ordinals(parent: Int32s, chosen: Bools) -> Int32s:
    """For chosen nodes the how-many-th chosen child of their parent they are, from 1; 0 for the others."""
    ordinal, children = np.zeros(len(parent), np.int32), np.zeros(len(parent), np.int32)
    _count_children(parent, chosen, children, ordinal)
    return ordinal


@njit(cache=True, nogil=True)
def _count_children(parent: Int32s, chosen: Bools, children: Int32s, ordinal: Int32s) -> None:
    for node in range(len(parent)):
        if chosen[node] and parent[node] >= 0:
            children[parent[node]] += 1
            ordinal[node] = children[parent[node]]


def depths(parent: Int32s) -> Int32s:
    depth = np.zeros(len(parent), np.int32)
    _find_depths(parent, depth)
    return depth


@njit(cache=True, nogil=True)
def _find_depths(parent: Int32s, depth: Int32s) -> None:
    for node in range(len(parent)):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1


def last_events(parent: Int32s, region: Int32s) -> Int32s:
    """By region: the last event within it; -1 if there is none."""
    last = np.full(len(parent), -1, np.int32)
    _find_last_events(parent, region, last)
    return last


@njit(cache=True, nogil=True)
def _find_last_events(parent: Int32s, region: Int32s, last: Int32s) -> None:
    for event in range(len(region)):
        if region[event] >= 0:
            last[region[event]] = event
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0 and last[node] > last[parent[node]]:
            last[parent[node]] = last[node]


def nearest_above(parent: Int32s, chosen: Bools) -> Int32s:
    """By node: itself if chosen, else the nearest chosen one around it; -1 if there is none."""
    nearest = np.full(len(parent), -1, np.int32)
    _find_nearest(parent, chosen, nearest)
    return nearest


@njit(cache=True, nogil=True)
def _find_nearest(parent: Int32s, chosen: Bools, nearest: Int32s) -> None:
    for node in range(len(parent)):
        if chosen[node]:
            nearest[node] = node
        elif parent[node] >= 0:
            nearest[node] = nearest[parent[node]]


def distinct(keys: Ints) -> tuple[Ints, Int32s]:
    """The distinct keys in the order of their first row, and which of them each row has: a hash table, no sorting."""
    number_of = np.empty(len(keys), np.int32)
    return _number(keys, number_of), number_of


@njit(cache=True, nogil=True)
def _number(keys: Ints, number_of: Int32s) -> Ints:
    """Fills the numbers, and returns the distinct keys."""
    slots = np.full(1024, -1, np.int32)
    found = np.empty(512, np.int64)
    count = 0
    for row in range(len(keys)):
        if 2 * (count + 1) > len(slots):
            slots = np.full(2 * len(slots), -1, np.int32)
            found = np.concatenate((found, np.empty(len(found), np.int64)))
            for number in range(count):
                slots[_free_slot(slots, found, found[number])] = number
        slot = _free_slot(slots, found, keys[row])
        if slots[slot] < 0:
            slots[slot] = count
            found[count] = keys[row]
            count += 1
        number_of[row] = slots[slot]
    return found[:count]


@njit(cache=True, nogil=True)
def _free_slot(slots: Int32s, found: Ints, key: int) -> int:
    """Where the key is, or belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)) & mask
    while slots[slot] >= 0 and found[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


def children_per_parent(start: Ints, order: Int32s, label: Int32s, labels: int) -> tuple[Int32s, Int32s]:
    """For every parent and every label among its children: the label, and how many they are. `start`, `order`: as
    `grouped(parent)` gives them."""
    label_of, times = np.empty(len(order), np.int32), np.empty(len(order), np.int32)
    count = _find_children(start, order, label, labels, label_of, times)
    return label_of[:count], times[:count]


@njit(cache=True, nogil=True)
def _find_children(  # noqa: PLR0917 -- columns
    start: Ints, order: Int32s, label: Int32s, labels: int, label_of: Int32s, times: Int32s
) -> int:
    """Fills the last two, and tells how many rows they have."""
    count = 0
    row_of = np.full(labels, -1, np.int64)  # the label's row if it belongs to this parent
    for parent in range(len(start) - 1):
        first = count
        for at in range(start[parent], start[parent + 1]):
            here = label[order[at]]
            if row_of[here] < first:
                row_of[here] = count
                label_of[count] = here
                times[count] = 0
                count += 1
            times[row_of[here]] += 1
    return count
