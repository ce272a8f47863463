"""When and where each sample was taken: its run, its thread, and how stacks of one thread follow each other.

An activation of a function ends where a stack of its thread no longer passes through the call that made it. Two calls
from one place between two samples look like one; what is seen to end, has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Ints, Run, column
from whyperf.engines.values.kinds import Flags
from whyperf.recording.schemas.tables import Clock


@dataclass(frozen=True)
class Timeline:
    """All samples of one run. Sorted by thread, those that do not count come last."""

    counted: Flags  # within the window, on the CPU
    time: Ints
    thread: Ints
    stack: Ints
    height: Ints  # out-of-line frames on the stack
    position: Ints  # of each sample when sorted by thread
    shared: tuple[Ints, ...]  # by position: frames shared with the next; then minima over 2, 4, 8 ... of them

    def __len__(self) -> int:
        return len(self.counted)

    def fewest_shared(self, first: Ints, second: Ints) -> Ints:
        """Frames from the root on that all stacks between two samples of one thread have in common."""
        start = self.position[first]
        length = self.position[second] - start
        level = np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1
        result = self.shared[0][start]
        for one in np.flatnonzero(np.bincount(level)).tolist():
            if one == 0:
                continue
            rows = np.flatnonzero(level == one)
            table, begin = self.shared[one], start[rows]
            result[rows] = np.minimum(table[begin], table[begin + length[rows] - (1 << one)])
        return result


def timeline(run: Run) -> Timeline:
    table = run.recording.table("samples")
    time, thread, stack = (column(table, name).astype(np.int64) for name in ("time", "thread", "stack"))
    window = run.manifest.window
    counted = (time >= window.start) & (time <= window.end) & (column(table, "clock") == Clock.CPU)
    order = np.lexsort((thread, ~counted))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    parent = np.array(run.stack_parent, np.int64)
    height = _heights(parent)
    own_heights = np.where(stack >= 0, height[stack], 0) if len(height) else np.zeros(len(stack), np.int64)
    ordered = stack[order]
    follows = _shared_frames(parent, height, ordered[:-1], ordered[1:])
    follows[thread[order][:-1] != thread[order][1:]] = 0
    # The minima are many, and stacks are never that high.
    narrow = np.int16 if height.max(initial=0) < np.iinfo(np.int16).max else np.int64
    shared = _minima(np.append(follows, 0)[: len(order)].astype(narrow))
    return Timeline(counted, time, thread, stack, own_heights, position, shared)


def _heights(parent: Ints) -> Ints:
    height = [1] * len(parent)
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            height[node] = height[above] + 1
    return np.array(height, np.int64)


def _shared_frames(parent: Ints, height: Ints, here: Ints, there: Ints) -> Ints:
    """How many nodes from the root on two stacks have in common."""
    if not len(here) or not len(parent):
        return np.zeros(len(here), np.int64)
    pairs, back = np.unique((here + 1) * (len(parent) + 1) + there + 1, return_inverse=True)
    one, other = pairs // (len(parent) + 1) - 1, pairs % (len(parent) + 1) - 1
    known = (one >= 0) & (other >= 0)
    one[~known] = other[~known] = 0
    while (apart := one != other).any():
        tall, deep = height[one] * (one >= 0), height[other] * (other >= 0)
        climb_one, climb_other = apart & (tall >= deep), apart & (deep >= tall)
        one[climb_one], other[climb_other] = parent[one[climb_one]], parent[other[climb_other]]
    result = np.where(known & (one >= 0), height[one], 0)
    return result[back]


def _minima(values: Ints) -> tuple[Ints, ...]:
    """Minima over windows of 1, 2, 4, 8 ... values."""
    tables = [values]
    width = 1
    while 2 * width <= len(values):
        before = tables[-1]
        tables.append(np.minimum(before[:-width], before[width:]))
        width *= 2
    return tuple(tables)
