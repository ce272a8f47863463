"""Where on a stack growth comes in.

A dispatcher whose other work stayed as it was has grown a little, the one callee that went wrong a lot, and everything
below that callee as much as it. So along a path from the root growth rises in steps, and whoever stands where it rises
did something more often or more expensively than before; callers before that step merely pass time on. So does every
caller of a function that takes as long as it did for what it does in every call: had they called it more often, that
had grown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from whyperf.engines.context_tree import ROOT
from whyperf.engines.excess.costs import Costs
from whyperf.engines.excess.iteration_rates import IterationRates
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.excess.subtrees import Subtrees
from whyperf.engines.run import Floats

_TINY = 1e-300
_MOSTLY = 0.5


@dataclass(frozen=True)
class GrowthStep:
    """A context at which growth comes in, and which part of the path's time it answers for because of that."""

    node: int
    part: float


@dataclass(frozen=True)
class GrowthPath:
    """What growth tells of the time in one context."""

    steps: tuple[GrowthStep, ...]
    region: tuple[tuple[int, float], ...]
    """Contexts whose data may explain it, deepest first, and how much of it at most."""
    owner: int  # who answers for the time as such


class ContextGrowth:
    """Logarithms of how many times as long the bad runs spend in every context, with what it calls."""

    def __init__(
        self,
        costs: Costs,
        spent: Floats,
        in_own_code: Floats,
        *,
        entries: Set[int],
        rounds: IterationRates,
        settings: ExcessSettings,
    ) -> None:
        self.entries = entries
        self._tree, self._settings = costs.tree, settings
        self._good, self._bad = (costs.tree.inclusive(side.mean) for side in (costs.good, costs.bad))
        self._own_bad, self._in_own_code = costs.bad.mean, in_own_code
        self._spent = costs.tree.inclusive(spent)
        self._in_callees: Floats = self._spent - spent
        self._good_samples = costs.tree.inclusive(costs.good.sampled)
        # So much was certainly missed: growth from nothing is not infinite.
        self._unseen = costs.of_samples(settings.unseen_samples)
        self.of: Floats = _log_ratio(self._bad, self._good, self._unseen)
        self._own: Floats = _log_ratio(costs.bad.mean, costs.good.mean, self._unseen)
        self._parents, self._functions = costs.tree.parent.tolist(), costs.tree.function.tolist()
        self._elsewhere: dict[tuple[int, int], bool] = {}
        self._rounds = rounds

    def path(self, node: int, steady: Set[int] = frozenset()) -> GrowthPath:
        """`steady`: functions whose loops were compared and go as far as they did."""
        nodes = _outwards(node, self._parents)
        called_as_ever = (place for place, to in enumerate(nodes[:-1], 1) if self._called_as_ever(to))
        within = nodes[: next(called_as_ever, len(nodes)) + 1]
        base = float(self.of[ROOT])
        reached = base
        rises: list[tuple[int, float]] = []
        for at in reversed(within):
            rise = max(0.0, float(self.of[at]) - reached)
            reached += rise
            rises.append((at, rise))
        # Its own code may have grown more than what it calls, too.
        own = max(0.0, float(self._own[node]) - reached)
        total = reached + own - base
        settings = self._settings
        needed = max(settings.concentrated * total, _TINY)
        enough = base + needed
        outermost = next(at for at in reversed(within) if self.of[at] >= enough or at == node)
        weight = settings.structure * min(1.0, total / settings.clear_rise)
        steps = tuple(
            GrowthStep(multiplier, weight * rise / total)
            for at, rise in rises
            if rise > 0.0 and (multiplier := self._multiplier(at, within, outermost, steady)) is not None
        )
        if own > 0.0 and not self.works_elsewhere(node, outermost):
            steps += (GrowthStep(node, weight * own / total),)
        farthest = max(within.index(at) for at in (outermost, *(step.node for step in steps)))
        # Data explain no more than has come in where they are; all of it, where growth is concentrated; but not what
        # more rounds of a loop further out explain.
        region = tuple(
            (at, come_in * (1.0 - self._for_more_rounds(at, node)))
            for at in within[: farthest + 1]
            if (come_in := 1.0 if at == node or self.of[at] >= enough else (float(self.of[at]) - base) / needed) > 0.0
        )
        return GrowthPath(steps, region, self._owner(nodes, outermost))

    def owners(self, owner: int, steady: Set[int]) -> Iterator[tuple[int, float]]:
        """Contexts and their parts of time that is some context's own. A function whose loops are known to go as far as
        they did is called more often. Of one of several callees that have grown at once callers take a part, as far as
        they have grown as well."""
        if (callee := self._most_repeated(owner)) is not None:
            part = self._more_rounds(callee, owner)
            yield self._parents[callee], part
            yield owner, 1.0 - part
            return
        if self._does_the_same(owner, steady):
            kept = self._settings.steady_keeps
            yield owner, kept
            yield self._calls_more(owner, steady), 1.0 - kept
            return
        yield from self._spread(owner)

    def _spread(self, owner: int) -> Iterator[tuple[int, float]]:
        left, share, base = 1.0, 1.0, float(self.of[ROOT])
        enough = max(self._settings.concentrated * (float(self.of[owner]) - base), _TINY)
        at = owner
        while self._may_answer(at := self._parents[at]):
            before, share = share, min(share, self._share_under(at, self._functions[owner]))
            part = (before - share) * min(1.0, (float(self.of[at]) - base) / enough)
            left -= part
            yield at, part
        yield owner, left

    def call_oftener(self, steady: Set[int]) -> dict[int, int]:
        """Contexts that call more often what does the same each time, and the callee that is this or leads to it."""
        found: dict[int, int] = {}
        for node in np.flatnonzero(np.isin(self._tree.function, list(steady))).tolist():
            if self._does_the_same(node, steady) and (caller := self._calls_more(node, steady)) != node:
                path = _outwards(node, self._parents)
                found[caller] = path[path.index(caller) - 1]
        return found

    def _does_the_same(self, node: int, steady: Set[int]) -> bool:
        """Each time it is called. Of the libraries that a function calls its own loops say nothing."""
        return self._functions[node] in steady and bool(self._in_own_code[node] > _MOSTLY * self._own_bad[node])

    def _calls_more(self, node: int, steady: Set[int]) -> int:
        """Who calls what leads to a context more often than before: outwards the first that is called as ever itself,
        as the loop around its call or the rest of its work shows, or that repeats the call."""
        while self._may_answer(caller := int(self._parents[node])):
            if self._tree.called_in_loop[node]:
                as_ever = self._functions[caller] in steady or self._goes_round_as_ever(node)
                return node if as_ever else caller
            if self._called_as_ever(node):
                return caller
            node = caller
        return node

    def _may_answer(self, caller: int) -> bool:
        return self._functions[caller] not in self.entries and float(self.of[caller]) > float(self.of[ROOT])

    def inwards(self, head: int, node: int) -> int:
        """The first context from `head` to `node` that repeats its call or its own code; `head` where none does."""
        nodes = _outwards(node, self._parents)
        nodes = nodes[: nodes.index(head) + 1]
        return next((at for at in reversed(nodes) if self._repeats(at, nodes)), head)

    def repeats_inside(self, head: int) -> bool:
        """Whether most of the bad runs' time under `head` is in code that something from `head` inwards repeats."""
        tree, repeated = self._tree, 0.0
        called_more = {head: False}  # contexts under it, and whether something from there inwards repeats their calls
        for node in range(head, len(tree)):
            parent = self._parents[node]
            if parent in called_more:
                called_more[node] = called_more[parent] or tree.called_in_loop[node]
            if node in called_more and (called_more[node] or tree.loops[node]):
                repeated += float(self._own_bad[node])
        return repeated > _MOSTLY * float(self._bad[head])

    def _multiplier(self, step: int, nodes: list[int], head: int, steady: Set[int]) -> int | None:
        """Who of `nodes` made the growth that comes in at `step`: from there inwards the first that repeats its call,
        not in loops known to be steady, and is no worker of everybody's. Without a loop a function calls once, so
        whatever multiplied lies further in; where nothing further in repeats anything, it is called more often by
        whoever calls it from a loop, unless that is a dispatcher whose other work stayed as it was."""
        for at in reversed(nodes[: nodes.index(step) + 1]):
            able = self._repeats(at, nodes) and self._functions[at] not in self.entries | steady
            if (
                able
                and at != nodes[0]
                and not self.works_elsewhere(at, head)
                and not self._goes_round_as_ever(nodes[nodes.index(at) - 1])
            ):
                return at
        caller = self._parents[step]
        inside = nodes[: nodes.index(step) + 1]
        straight = all(self._tree.known[at] for at in inside) and not self._tree.loops[nodes[0]]
        grown = float(self.of[caller] - self.of[ROOT]) >= self._settings.clear_rise
        able = grown and caller in nodes and self._functions[caller] not in self.entries
        more = able and self._tree.called_in_loop[step] and not self._goes_round_as_ever(step)
        return caller if straight and more else None

    def _owner(self, nodes: list[int], head: int) -> int:
        """The innermost context that is not merely called more than before; the caller of `head` if all of them are."""
        if not self.works_elsewhere(nodes[0], head):
            return nodes[0]
        inside = nodes.index(head) + 1
        own = [at for at in nodes[1:inside] if not self.works_elsewhere(at, head)]
        if own:
            return next((at for at in own if self._repeats(at, nodes)), own[0])
        return next((at for at in nodes[inside : inside + 1] if not self.works_elsewhere(at, head)), nodes[0])

    def _share_under(self, caller: int, function: int) -> float:
        """How much of what grew in the callees of a context is in the function, wherever it is called there."""
        total = float(self._in_callees[caller])
        return self._subtrees.inside("spent", function, caller) / total if total > 0.0 else 1.0

    def _repeats(self, at: int, nodes: list[int]) -> bool:
        """Whether a context of the path calls the next one on it from a loop; the last: whether its own code loops."""
        place = nodes.index(at)
        return self._tree.called_in_loop[nodes[place - 1]] if place else self._tree.loops[at]

    def _goes_round_as_ever(self, callee: int) -> bool:
        """Whether the loop from which a context is called goes round as often as it did."""
        return self._rounds.grown(callee).most < self._settings.concentrated * float(self.of[callee])

    def _most_repeated(self, node: int) -> int | None:
        """Outwards the last context whose caller's loop goes round more often, by more than half of what has grown. The
        rest of the caller is as ever: else it may be called more often itself."""
        repeated = (
            at
            for at in _outwards(node, self._parents)
            if self._may_answer(self._parents[at])
            and self._more_rounds(at, node) > _MOSTLY
            and self._does_the_rest_as_ever(at)
        )
        return max(repeated, default=None, key=lambda at: -at)

    def _for_more_rounds(self, at: int, node: int) -> float:
        return max(self._more_rounds(callee, node) for callee in _outwards(at, self._parents))

    def _more_rounds(self, callee: int, node: int) -> float:
        """How much of the growth of `node` is for certain the loop's that calls `callee`, which is on the way there."""
        least, grown = self._rounds.grown(callee).least, float(self.of[node])
        return min(1.0, max(0.0, least / grown)) if grown > 0.0 else 0.0

    def _called_as_ever(self, node: int) -> bool:
        """Whether the caller of `node` is called as often as it was: what it does in every call beside `node` takes as
        long as it did."""
        return self._rounds.calls(node).most < self._settings.concentrated * float(self.of[node])

    def _does_the_rest_as_ever(self, node: int) -> bool:
        """Whether all else that the caller of `node` does has hardly grown, in code of its own or in other callees."""
        caller = self._parents[node]
        if float(self._good_samples[caller] - self._good_samples[node]) < self._settings.elsewhere_samples:
            return False
        good, bad = (float(side[caller] - side[node]) for side in (self._good, self._bad))
        return self._grown(good, bad) < self._settings.concentrated * float(self.of[node])

    def works_elsewhere(self, node: int, head: int) -> bool:
        """Whether the function of `node` runs outside of `head` as well, and has hardly grown there."""
        asked = (self._functions[node], head)
        if asked not in self._elsewhere:
            self._elsewhere[asked] = self._works_outside(*asked)
        return self._elsewhere[asked]

    def _works_outside(self, function: int, head: int) -> bool:
        there = self._subtrees.outside
        if there("samples", function, head) < self._settings.elsewhere_samples:
            return False
        grown_here = self._grown(*(self._subtrees.inside(side, function, head) for side in ("good", "bad")))
        grown_there = self._grown(*(there(side, function, head) for side in ("good", "bad")))
        usual = float(self.of[ROOT]) + self._settings.clear_rise
        return grown_there < min(usual, self._settings.concentrated * grown_here)

    def _grown(self, good: float, bad: float) -> float:
        return log(max(bad + self._unseen, _TINY) / max(good + self._unseen, _TINY))

    @cached_property
    def _subtrees(self) -> Subtrees:
        columns = {"good": self._good, "bad": self._bad, "samples": self._good_samples, "spent": self._spent}
        return Subtrees(self._tree, columns)


def _outwards(node: int, parents: list[int]) -> list[int]:
    path = []
    while node != ROOT:
        path.append(node)
        node = parents[node]
    return path


def _log_ratio(bad: Floats, good: Floats, unseen: float) -> Floats:
    ratio: Floats = np.log(np.maximum(bad + unseen, _TINY) / np.maximum(good + unseen, _TINY))
    return ratio
