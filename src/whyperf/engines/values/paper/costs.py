"""Raw execution costs of section 3.4.1: by PC samples, or by samples in which variables of interest were read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Ints, Run, column, sums
from whyperf.engines.values.readings import Readings
from whyperf.engines.values.settings import ValuesPaperSettings
from whyperf.engines.values.timeline import Timeline
from whyperf.engines.values.variables import Variable


class RawCosts:
    """Of one run. Like gprof it counts by symbol: inlined code belongs to the function that holds it.

    An alarm interval is what a sample stands for: its weight.
    """

    def __init__(self, run: Run, functions: FunctionIndex, when: Timeline, settings: ValuesPaperSettings) -> None:
        self._when, self._depths = when, settings.unwind_depth + 1
        self._stack = column(run.recording.table("samples"), "stack").astype(np.int64)
        self._weight = column(run.recording.table("samples"), "weight").astype(np.float64) / 1e9
        self._parent = np.array(run.stack_parent, np.int64)
        of_frame = functions.of_frame[run]
        self.symbol_of_frame: Ints = np.array([of_frame[chain[0]] for chain in run.frame_chain], np.int64)
        self._frame = np.array(run.stack_frame, np.int64)
        self._symbol: Ints = self.symbol_of_frame[self._frame] if len(self._parent) else self._parent
        self._symbols = frozenset(self.symbol_of_frame.tolist())
        self._functions = len(functions.functions)
        self._read = np.zeros(len(self._stack) * self._depths, np.bool_)

    def mark(self, readings: Readings) -> None:
        """A variable of interest was read here."""
        self._read[readings.sample * self._depths + readings.depth] = True

    def attributed_to(self, variable: Variable, readings: Readings) -> list[int]:
        """A local's function; for a global all functions in which it was read.

        Not said in the paper: the local of a function that exists inlined only belongs to whoever holds it.
        """
        if variable.function in self._symbols:
            return [variable.function]
        return sorted(set(self.symbol_of_frame[np.unique(readings.frame)].tolist()))

    def seconds(self) -> Floats:
        """The larger of both costs."""
        return np.maximum(self._by_pc(), self._by_variables())

    def _by_pc(self) -> Floats:
        counted = np.flatnonzero(self._when.counted & (self._stack >= 0))
        return self._sum(self._symbol[self._stack[counted]], self._weight[counted])

    def _by_variables(self) -> Floats:
        """Frames with a reading, per sample. Readings at the same PC are one: several variables, and recursion."""
        cost = np.zeros(self._functions)
        node = self._stack.copy()
        read = self._read.reshape(-1, self._depths)
        counted: list[Ints] = []  # frames of the samples, depth by depth; -1 where nothing was read
        for depth in range(self._depths):
            frame = np.full(len(node), -1, np.int64)
            here = np.flatnonzero(read[:, depth] & (node >= 0))
            frame[here] = self._frame[node[here]]
            for deeper in counted:
                frame[frame == deeper] = -1
            here = np.flatnonzero(frame >= 0)
            cost += self._sum(self._symbol[node[here]], self._weight[here])
            counted.append(frame)
            above = node >= 0
            node[above] = self._parent[node[above]]
        return cost

    def _sum(self, symbols: Ints, weights: Floats) -> Floats:
        return sums(symbols, weights, self._functions)


def history_discount(
    good: Sequence[Floats], bad: Sequence[Floats], function: int, settings: ValuesPaperSettings
) -> float:
    """The hist-discounter: how often it ranks higher in a normal profile than in a buggy one."""
    higher = compared = 0
    for normal in good:
        for buggy in bad:
            if normal[function] > 0 and buggy[function] > 0:
                compared += 1
                higher += int(np.count_nonzero(normal > normal[function]) < np.count_nonzero(buggy > buggy[function]))
    ratio = higher / compared if compared else 0.0
    return 0.0 if ratio < settings.valid_discount else ratio
