"""Where on a stack growth comes in.

A dispatcher whose other work stayed as it was has grown a little, the one callee that went wrong a lot, and everything
below that callee as much as it. So along a path from the root growth rises in steps, and whoever stands where it rises
did something more often or more expensively than before; callers before that step merely pass time on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.excess.costs import Costs, Side
from whyperf.engines.excess.settings import ExcessSettings
from whyperf.engines.excess.tree import ROOT
from whyperf.engines.run import Floats


@dataclass(frozen=True)
class Step:
    """A context at which growth comes in, and which part of the path's time it answers for because of that."""

    node: int
    part: float


@dataclass(frozen=True)
class Path:
    """What growth tells of the time in one context."""

    steps: tuple[Step, ...]
    region: tuple[int, ...]  # contexts in which growth is concentrated, deepest first
    owner: int  # who answers for the time as such


class Growth:
    """Logarithms of how many times as long the bad runs spend in every context, with what it calls."""

    def __init__(self, costs: Costs, entries: Set[int], settings: ExcessSettings) -> None:
        self._entries = entries
        self._tree, self._settings = costs.tree, settings
        self._good, self._bad = (costs.tree.inclusive(side.mean) for side in (costs.good, costs.bad))
        self._own_bad = costs.bad.mean
        self._good_samples = costs.tree.inclusive(costs.good.samples.sum(axis=0))
        # So much was certainly missed: growth from nothing is not infinite.
        self._unseen = settings.unseen_samples * max(_one_sample(costs.good), _one_sample(costs.bad))
        self.of: Floats = _log_ratio(self._bad, self._good, self._unseen)
        self._parents, self._functions = costs.tree.parent.tolist(), costs.tree.function.tolist()

    def path(self, node: int) -> Path:
        nodes = _outwards(node, self._parents)
        base = float(self.of[ROOT])
        reached = base
        rises: list[tuple[int, float]] = []
        for at in reversed(nodes):
            rise = max(0.0, float(self.of[at]) - reached)
            reached += rise
            rises.append((at, rise))
        total = reached - base
        settings = self._settings
        enough = base + settings.concentrated * total
        outermost = next(at for at in reversed(nodes) if self.of[at] >= enough or at == node)
        region = tuple(nodes[: nodes.index(outermost) + 1])
        weight = settings.structure * min(1.0, total / settings.clear_rise)
        steps = tuple(
            Step(multiplier, weight * rise / total)
            for at, rise in rises
            if rise > 0.0 and (multiplier := self._multiplier(at, nodes, outermost)) is not None
        )
        return Path(steps, region, self._owner(nodes, outermost))

    def inwards(self, head: int, node: int) -> int:
        """The first context from `head` to `node` that repeats its call or its own code; `head` where none does."""
        nodes = _outwards(node, self._parents)
        nodes = nodes[: nodes.index(head) + 1]
        return next((at for at in reversed(nodes) if self._repeats(at, nodes)), head)

    def repeats_inside(self, head: int) -> bool:
        """Whether most of the bad runs' time under `head` is in code that something from `head` inwards repeats."""
        repeated = 0.0
        for node in range(head, len(self._tree)):
            path = _outwards(node, self._parents)
            if head in path and any(self._repeats(at, path) for at in path[: path.index(head) + 1]):
                repeated += float(self._own_bad[node])
        return repeated > 0.5 * float(self._bad[head])

    def _multiplier(self, step: int, nodes: list[int], head: int) -> int | None:
        """Who made the growth that comes in at `step`: from there inwards the first that repeats its call and is no
        worker of everybody's. Without a loop a function calls once, so whatever multiplied lies further in."""
        for at in reversed(nodes[: nodes.index(step) + 1]):
            able = self._repeats(at, nodes) and self._functions[at] not in self._entries
            if able and at != nodes[0] and not self.works_elsewhere(at, head):
                return at
        return None

    def _owner(self, nodes: list[int], head: int) -> int:
        """The innermost context that is not merely called more than before; at most the caller of `head`."""
        region = nodes[: nodes.index(head) + 2]
        own = [at for at in region if not self.works_elsewhere(at, head)]
        if not own:
            return nodes[0]
        if own[0] == nodes[0]:
            return own[0]
        return next((at for at in own if self._repeats(at, nodes)), own[0])

    def _repeats(self, at: int, nodes: list[int]) -> bool:
        """Whether a context of the path calls the next one on it from a loop; the last: whether its own code loops."""
        place = nodes.index(at)
        return self._tree.called_in_loop[nodes[place - 1]] if place else self._tree.loops[at]

    def works_elsewhere(self, node: int, head: int) -> bool:
        """Whether the function of `node` runs outside of `head` as well, and has hardly grown there."""
        function = self._functions[node]
        good, bad, samples = self._whole[function]
        inside_good, inside_bad, inside_samples = self._inside(head).get(function, (0.0, 0.0, 0.0))
        if samples - inside_samples < self._settings.elsewhere_samples:
            return False
        here = _log_ratio(np.array(inside_bad), np.array(inside_good), self._unseen)
        there = _log_ratio(np.array(bad - inside_bad), np.array(good - inside_good), self._unseen)
        return bool(there < self._settings.concentrated * here)

    @cached_property
    def _whole(self) -> dict[int, tuple[float, float, float]]:
        return self._by_function(np.ones(len(self._tree), np.bool_))

    def _inside(self, head: int) -> dict[int, tuple[float, float, float]]:
        found = self._kept_inside.get(head)
        if found is None:
            under = np.zeros(len(self._tree), np.bool_)
            under[head] = True
            for node in range(head + 1, len(self._tree)):
                under[node] = under[self._parents[node]]
            found = self._kept_inside[head] = self._by_function(under)
        return found

    @cached_property
    def _kept_inside(self) -> dict[int, dict[int, tuple[float, float, float]]]:
        return {}

    @cached_property
    def _outermost(self) -> list[int]:
        chosen: list[int] = self._tree.outermost().tolist()
        return chosen

    def _by_function(self, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> dict[int, tuple[float, float, float]]:
        """Good and bad time with callees, and good samples, of every function's outermost contexts among the wanted."""
        found: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for node in self._outermost:
            if wanted[node]:
                sums_of = found[self._functions[node]]
                sums_of[0] += float(self._good[node])
                sums_of[1] += float(self._bad[node])
                sums_of[2] += float(self._good_samples[node])
        return {function: (good, bad, samples) for function, (good, bad, samples) in found.items()}


def _outwards(node: int, parents: list[int]) -> list[int]:
    path = []
    while node != ROOT:
        path.append(node)
        node = parents[node]
    return path


def _log_ratio(bad: Floats, good: Floats, unseen: float) -> Floats:
    ratio: Floats = np.log(np.maximum(bad + unseen, 1e-300) / np.maximum(good + unseen, 1e-300))
    return ratio


def _one_sample(side: Side) -> float:
    """Seconds per unit of work that one sample more in one of the runs would add to the mean."""
    samples = float(side.samples.sum())
    return float(side.mean.sum()) / samples if samples else 0.0
