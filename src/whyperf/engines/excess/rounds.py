"""What else is done in the rounds of a loop from which a function is called.

A loop that went round more often than it did would do more of everything that it does in every round. So where one
callee of a loop takes longer, and what the loop does beside it takes as long as ever, it is not called more often.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, sqrt

from whyperf.engines.excess.costs import Costs, Side
from whyperf.engines.excess.own_frames import OwnFrames
from whyperf.engines.excess.settings import ExcessSettings
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


@dataclass(frozen=True)
class Between:
    """Bounds of a growth, as a logarithm."""

    least: float
    most: float


class Rounds:
    """Stacks are read when first asked about."""

    def __init__(
        self, index: FunctionIndex, costs: Costs, units: dict[Run, float], clock: Clock, settings: ExcessSettings
    ) -> None:
        self._index, self._costs, self._units, self._clock = index, costs, units, clock
        self._settings = settings
        self._known: dict[int, Between] = {}

    def grown(self, node: int) -> Between:
        """By how much the rounds of the loop that calls a context have grown, as what is done beside it shows."""
        if node not in self._known:
            good, bad = self._beside(node)
            self._known[node] = Between(self._least(good, bad), self._most(good, bad))
        return self._known[node]

    def _least(self, good: Spent, bad: Spent) -> float:
        """From the most that good runs may have spent to the least that bad ones did: 95% each, nearly, by Poisson."""
        most = good.seconds + (2.0 + 2.0 * sqrt(good.samples + 1.0)) * self._costs.good.one_sample
        least = bad.seconds * (1.0 - 2.0 / sqrt(max(bad.samples, 4.0)))
        return log(least / most) if least > 0.0 else -inf

    def _most(self, good: Spent, bad: Spent) -> float:
        if good.samples < self._settings.beside_samples:
            return inf
        error = sqrt(1.0 / good.samples + 1.0 / max(bad.samples, 1.0))
        unseen = self._costs.of_samples(self._settings.unseen_samples)
        return log((bad.seconds + unseen) / (good.seconds + unseen)) + self._settings.interval_sigma * error

    def _beside(self, node: int) -> tuple[Spent, Spent]:
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

    def _in_rounds(self, side: Side) -> _InRounds:
        found = _InRounds()
        tree = self._costs.tree
        for run, nodes in zip(side.runs, side.nodes, strict=True):
            if not run.in_every_round:
                continue
            time, scale = run.time(self._clock), self._units[run] * len(side.runs)
            frames = OwnFrames(self._index, run)
            columns = (time.stack.tolist(), nodes.tolist(), time.seconds.tolist(), time.samples.tolist())
            for stack, leaf, seconds, samples in zip(*columns, strict=True):
                spent = Spent(seconds / scale, samples)
                # Stacks without the program's own code have contexts, but no such frames.
                path = list(zip(tree.path(leaf), frames.of(stack), strict=False))
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
