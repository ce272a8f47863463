"""What is done once per event or per region, compiled: everything here is linear in its input."""

from __future__ import annotations

import numpy as np
from numba import njit

from whyperf.engines.relations.arrays import Bools, Floats, Int32s, Ints


@njit(cache=True, nogil=True)
def grouped(key: Int32s, groups: int) -> tuple[Ints, Int32s]:
    """Rows by key in their order: group g's are `order[start[g]:start[g + 1]]`. Negative keys are in none."""
    start = np.zeros(groups + 1, np.int64)
    for row in range(len(key)):
        if key[row] >= 0:
            start[key[row] + 1] += 1
    for group in range(groups):
        start[group + 1] += start[group]
    order = np.empty(start[groups], np.int32)
    filled = start[:-1].copy()
    for row in range(len(key)):
        if key[row] >= 0:
            order[filled[key[row]]] = row
            filled[key[row]] += 1
    return start, order


@njit(cache=True, nogil=True)
def inclusive(parent: Int32s, own: Floats) -> Floats:
    """What every node holds together with everything below it; parents come before children."""
    total = own.copy()
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            total[parent[node]] += total[node]
    return total


@njit(cache=True, nogil=True)
def within_same(parent: Int32s, label: Int32s, labels: int, start: Ints, order: Int32s) -> Bools:
    """Whether a node lies below another of its label: what it holds is already counted there.

    `start` and `order` are the children of every node, as `grouped(parent)` gives them.
    """
    open_now = np.zeros(labels, np.int32)
    below = np.zeros(len(parent), np.bool_)
    next_child = start[:-1].copy()
    stack = np.empty(len(parent) + 1, np.int32)
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
    return below


@njit(cache=True, nogil=True)
def ordinals(parent: Int32s, chosen: Bools) -> Int32s:
    """For chosen nodes the how-many-th chosen child of their parent they are, from 1; 0 for the others."""
    ordinal = np.zeros(len(parent), np.int32)
    children = np.zeros(len(parent), np.int32)
    for node in range(len(parent)):
        if chosen[node] and parent[node] >= 0:
            children[parent[node]] += 1
            ordinal[node] = children[parent[node]]
    return ordinal


@njit(cache=True, nogil=True)
def depths(parent: Int32s) -> Int32s:
    depth = np.zeros(len(parent), np.int32)
    for node in range(len(parent)):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1
    return depth


@njit(cache=True, nogil=True)
def last_events(parent: Int32s, region: Int32s) -> Int32s:
    """By region: the last event within it; -1 if there is none."""
    last = np.full(len(parent), -1, np.int32)
    for event in range(len(region)):
        if region[event] >= 0:
            last[region[event]] = event
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0 and last[node] > last[parent[node]]:
            last[parent[node]] = last[node]
    return last


@njit(cache=True, nogil=True)
def nearest_above(parent: Int32s, chosen: Bools) -> Int32s:
    """By node: itself if chosen, else the nearest chosen one around it; -1 if there is none."""
    nearest = np.full(len(parent), -1, np.int32)
    for node in range(len(parent)):
        if chosen[node]:
            nearest[node] = node
        elif parent[node] >= 0:
            nearest[node] = nearest[parent[node]]
    return nearest
