"""What else is done in the rounds of a loop from which a function is called, or in the calls of its caller.

A loop that went round more often than it did would do more of everything that it does in every round. So where one
callee of a loop takes longer, and what the loop does beside it takes as long as ever, it is not called more often. In
the same way what a function does in every call tells how often it is called; what it may leave out tells nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, sqrt

from whyperf.engines.excess.costs import Costs, CostSide
from whyperf.engines.excess.own_frames import OwnFrames
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.recording.schemas.tables import Clock


@dataclass
class Spent:
    seconds: float = 0.0  # per unit of work, mean over runs
    samples: float = 0.0

    def add(self, other: Spent, sign: float = 1.0) -> None:
        self.seconds += sign * other.seconds
        self.samples += sign * other.samples


@dataclass(frozen=True)
class _Rounds:
    """Those of a loop of a context, or the context's own calls."""

    context: int
    line: int | None  # of what decides whether the loop goes on, counted from the function's declaration; None: calls


@dataclass(frozen=True)
class _InRounds:
    """What one side spent in code that is reached in every round."""

    all: dict[_Rounds, Spent] = field(default_factory=lambda: defaultdict(Spent))
    calls: dict[int, dict[_Rounds, Spent]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Spent)))

    def beside(self, node: int, rounds: _Rounds) -> Spent:
        spent = Spent()
        spent.add(self.all.get(rounds, Spent()))
        spent.add(self.calls.get(node, {}).get(rounds, Spent()), -1.0)
        return spent


@dataclass(frozen=True)
class Between:
    """Bounds of a growth, as a logarithm."""

    least: float
    most: float


class IterationRates:
    """Stacks are read when first asked about."""

    def __init__(
        self, index: FunctionIndex, costs: Costs, units: dict[Run, float], clock: Clock, settings: ExcessSettings
    ) -> None:
        self._index, self._costs, self._units, self._clock = index, costs, units, clock
        self._settings = settings
        self._known: dict[tuple[int, bool], Between] = {}  # by context, and whether of its loop

    def grown(self, node: int) -> Between:
        """By how much the rounds of the loop that calls a context have grown, as what is done beside it shows."""
        if (node, True) not in self._known:
            self._known[node, True] = self._between(node, self._loop_of(node))
        return self._known[node, True]

    def calls(self, node: int) -> Between:
        """By how much calls of a context's caller have grown, as what the caller does in every call beside it shows."""
        if (node, False) not in self._known:
            self._known[node, False] = self._between(node, _Rounds(int(self._costs.tree.parent[node]), None))
        return self._known[node, False]

    def _between(self, node: int, rounds: _Rounds | None) -> Between:
        if rounds is None:
            return Between(-inf, inf)
        good, bad = (side.beside(node, rounds) for side in (self._good, self._bad))
        return Between(self._least(good, bad), self._most(good, bad))

    def _least(self, good: Spent, bad: Spent) -> float:
        """From the most that good runs may have spent to the least that bad ones did: 95% each, nearly, by Poisson."""
        most = good.seconds + (2.0 + 2.0 * sqrt(good.samples + 1.0)) * self._costs.good.one_sample
        least = bad.seconds * (1.0 - 2.0 / sqrt(max(bad.samples, 4.0)))
        return log(least / most) if least > 0.0 and most > 0.0 else -inf  # samples without weight tell nothing

    def _most(self, good: Spent, bad: Spent) -> float:
        if good.samples < self._settings.beside_samples:
            return inf
        error = sqrt(1.0 / good.samples + 1.0 / max(bad.samples, 1.0))
        unseen = self._costs.of_samples(self._settings.unseen_samples)
        if unseen <= 0.0:
            return inf
        return log((bad.seconds + unseen) / (good.seconds + unseen)) + self._settings.interval_sigma * error

    def _loop_of(self, node: int) -> _Rounds | None:
        """The loop that calls a context for most of its time; None if none does."""
        loops = {rounds: spent for rounds, spent in self._bad.calls.get(node, {}).items() if rounds.line is not None}
        loop = max(loops, key=lambda one: loops[one].seconds, default=None)
        mostly = loop is not None and loops[loop].seconds > 0.5 * float(self._bad_s[node])
        return loop if mostly else None

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

    def _in_rounds(self, side: CostSide) -> _InRounds:
        found = _InRounds()
        tree = self._costs.tree
        for run, nodes in zip(side.runs, side.nodes, strict=True):
            if not (run.in_every_call or run.in_every_round):
                continue
            time, scale = run.time(self._clock), self._units[run] * len(side.runs)
            frames = OwnFrames(self._index, run)
            columns = (time.stack.tolist(), nodes.tolist(), time.seconds.tolist(), time.samples.tolist())
            for stack, leaf, seconds, samples in zip(*columns, strict=True):
                spent = Spent(seconds / scale, samples)
                # Stacks without the program's own code have contexts, but no such frames.
                path = list(zip(tree.path(leaf), frames.of(stack), strict=False))
                for place, (node, frame) in enumerate(path):
                    for line in self._lines(run, frame):
                        rounds = _Rounds(node, line)
                        found.all[rounds].add(spent)
                        if place + 1 < len(path):
                            found.calls[path[place + 1][0]][rounds].add(spent)
        return found

    def _lines(self, run: Run, frame: int) -> Iterator[int | None]:
        if frame in run.in_every_call:
            yield None
        if frame in run.in_every_round:
            function = self._index.of_frame[run][frame]
            yield run.decided_by.get(frame, 0) - self._index.declared_line[run].get(function, 0)
