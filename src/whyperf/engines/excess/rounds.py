"""What else is done in the rounds of a loop from which a function is called.

A loop that went round more often than it did would do more of everything that it does in every round. So where one
callee of a loop takes longer, and what the loop does beside it takes as long as ever, it is not called more often.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from whyperf.engines.excess.costs import Costs, Side
from whyperf.engines.excess.tree import ROOT
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.recording.tables import Clock


@dataclass
class Spent:
    seconds: float = 0.0  # per unit of work, mean over runs
    samples: float = 0.0

    def add(self, other: Spent, sign: float = 1.0) -> None:
        self.seconds += sign * other.seconds
        self.samples += sign * other.samples


@dataclass(frozen=True)
class _Loop:
    context: int
    line: int  # of what decides whether it goes on, counted from the function's declaration


@dataclass(frozen=True)
class _InRounds:
    """What one side spent in code that loops of a context reach in every round."""

    all: dict[_Loop, Spent] = field(default_factory=lambda: defaultdict(Spent))
    calls: dict[int, dict[_Loop, Spent]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Spent)))


class Rounds:
    """Stacks are read when first asked about."""

    def __init__(self, index: FunctionIndex, costs: Costs, units: dict[Run, float], clock: Clock) -> None:
        self._index, self._costs, self._units, self._clock = index, costs, units, clock

    def beside(self, node: int) -> tuple[Spent, Spent]:
        """What good and bad runs spent beside a context in rounds of the loop that calls it for most of its time; it
        is nothing if no loop does."""
        good, bad = Spent(), Spent()
        loops = self._bad.calls.get(node, {})
        loop = max(loops, key=lambda one: loops[one].seconds, default=None)
        in_rounds = loops[loop].seconds if loop is not None else 0.0
        if loop is not None and in_rounds > 0.5 * float(self._bad_s[node]):
            for spent, side in ((good, self._good), (bad, self._bad)):
                spent.add(side.all.get(loop, Spent()))
                spent.add(side.calls.get(node, {}).get(loop, Spent()), -1.0)
        return good, bad

    @cached_property
    def _bad_s(self) -> list[float]:
        seconds: list[float] = self._costs.tree.inclusive(self._costs.bad.mean).tolist()
        return seconds

    @cached_property
    def _good(self) -> _InRounds:
        return self._in_rounds(self._costs.good)

    @cached_property
    def _bad(self) -> _InRounds:
        return self._in_rounds(self._costs.bad)

    @cached_property
    def _child(self) -> dict[tuple[int, int], int]:
        tree = self._costs.tree
        calls = zip(tree.parent.tolist(), tree.function.tolist(), strict=True)
        return {call: node for node, call in enumerate(calls) if node != ROOT}

    def _in_rounds(self, side: Side) -> _InRounds:
        found = _InRounds()
        for run in side.runs:
            if not run.in_every_round:
                continue
            time, scale = run.time(self._clock), self._units[run] * len(side.runs)
            path_of = _Paths(self._index, self._child, run).path
            columns = (time.stack.tolist(), time.seconds.tolist(), time.samples.tolist())
            for stack, seconds, samples in zip(*columns, strict=True):
                spent = Spent(seconds / scale, samples)
                path = path_of(stack)
                for place, (node, frame) in enumerate(path):
                    if frame in run.in_every_round:
                        loop = _Loop(node, self._line(run, frame))
                        found.all[loop].add(spent)
                        if place + 1 < len(path):
                            found.calls[path[place + 1][0]][loop].add(spent)
        return found

    def _line(self, run: Run, frame: int) -> int:
        function = self._index.of_frame[run][frame]
        return run.decided_by[frame] - self._index.declared_line[run].get(function, 0)


class _Paths:
    """Of stacks the contexts from the outermost inwards, each with its frame: what the tree was made from."""

    def __init__(self, index: FunctionIndex, child: dict[tuple[int, int], int], run: Run) -> None:
        self._own, self._function_of, self._child, self._run = index.own, index.of_frame[run], child, run
        self._known: dict[int, tuple[tuple[int, int], ...]] = {-1: ()}

    def path(self, stack: int) -> tuple[tuple[int, int], ...]:
        run, todo = self._run, []
        while stack not in self._known:
            todo.append(stack)
            stack = run.stack_parent[stack]
        for each in reversed(todo):
            path = self._known[run.stack_parent[each]]
            for frame in run.frame_chain[run.stack_frame[each]]:
                if self._own[self._function_of[frame]]:
                    path = self._entered(path, frame)
            self._known[each] = path
            stack = each
        return self._known[stack]

    def _entered(self, path: tuple[tuple[int, int], ...], frame: int) -> tuple[tuple[int, int], ...]:
        function = self._function_of[frame]
        if path and self._function_of[path[-1][1]] == function:
            return (*path[:-1], (path[-1][0], frame))
        return (*path, (self._child[path[-1][0] if path else ROOT, function], frame))
