"""When and where each sample of a run was taken: its thread, its place in that thread, and how stacks follow another.

An activation of a function ends where a stack of its thread no longer passes through the call that made it. Two calls
from one place between two samples look like one; what is seen to end, has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.engines.run import Ints, Run, column
from whyperf.recording.tables import Clock

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Timeline:
    """Per sample of one run."""

    counted: Flags  # within the window, on the CPU
    time: Ints
    thread: Ints
    height: Ints  # out-of-line frames on the stack
    position: Ints  # of each sample when sorted by thread
    shared: tuple[Ints, ...]  # by position: frames shared with the next; then minima over 2, 4, 8 ... of them

    def fewest_shared(self, first: Ints, second: Ints) -> Ints:
        """Frames from the root on that all stacks between two samples of one thread have in common."""
        start, length = self.position[first], self.position[second] - self.position[first]
        level = np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1
        result = np.empty(len(first), np.int64)
        for one in np.unique(level).tolist():
            rows = np.flatnonzero(level == one)
            table = self.shared[one]
            begin = start[rows]
            result[rows] = np.minimum(table[begin], table[begin + length[rows] - (1 << one)])
        return result


def timeline(run: Run) -> Timeline:
    table = run.recording.table("samples")
    time, thread = column(table, "time").astype(np.int64), column(table, "thread").astype(np.int64)
    stack = column(table, "stack").astype(np.int64)
    window = run.manifest.window
    counted = (time >= window.start) & (time <= window.end) & (column(table, "clock") == Clock.CPU)
    order = np.lexsort((np.arange(len(thread)), thread, ~counted))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    parent = np.array(run.stack_parent, np.int64)
    height = _heights(parent)
    heights = np.where(stack >= 0, height[stack], 0) if len(height) else np.zeros(len(stack), np.int64)
    ordered = stack[order]
    shared = _shared_frames(parent, height, ordered[:-1], ordered[1:])
    shared[thread[order][:-1] != thread[order][1:]] = 0
    return Timeline(counted, time, thread, heights, position, _minima(shared))


def _heights(parent: Ints) -> Ints:
    height = np.ones(len(parent), np.int64)
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            height[node] = height[above] + 1
    return height


def _shared_frames(parent: Ints, height: Ints, here: Ints, there: Ints) -> Ints:
    """How many nodes from the root on two stacks have in common."""
    if not len(here) or not len(parent):
        return np.zeros(len(here), np.int64)
    pairs, back = np.unique(np.stack((here, there)), axis=1, return_inverse=True)
    one, other = pairs[0].copy(), pairs[1].copy()
    known = (one >= 0) & (other >= 0)
    one[~known] = other[~known] = 0
    while True:
        apart = one != other
        if not apart.any():
            break
        tall, deep = height[np.maximum(one, 0)] * (one >= 0), height[np.maximum(other, 0)] * (other >= 0)
        climb_one, climb_other = apart & (tall >= deep), apart & (deep >= tall)
        one[climb_one], other[climb_other] = parent[one[climb_one]], parent[other[climb_other]]
    result = np.where(known & (one >= 0), height[np.maximum(one, 0)], 0)
    return result[np.ravel(back)].astype(np.int64)


def _minima(values: Ints) -> tuple[Ints, ...]:
    """Minima over windows of 1, 2, 4, 8 ... values."""
    tables = [values]
    width = 1
    while 2 * width <= len(values):
        before = tables[-1]
        tables.append(np.minimum(before[:-width], before[width:]))
        width *= 2
    return tuple(tables)
