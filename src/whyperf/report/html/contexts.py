"""The flame graphs: where time was spent, by calling context, in good and bad runs on one tree."""

from __future__ import annotations

import numpy as np

from whyperf.diagnose.verdict import ContextRanking
from whyperf.engines.context_tree import ContextTree
from whyperf.engines.contexts.layers import Layer, layers_of
from whyperf.engines.excess.costs import Costs, CostSide, measure
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats
from whyperf.recording.schemas.tables import Clock
from whyperf.report.html.examined import Examined
from whyperf.report.html.memory import memory_over_time, memory_trees
from whyperf.report.html.model import (
    ContextsSection,
    ContextTreeColumns,
    FrameFunction,
    HeatContext,
    HeatMap,
    HeatStep,
    ShownClock,
)
from whyperf.report.traced_path import without_tracing

# A screen is 2,000 pixels wide: more contexts than this are narrower than one of them.
MOST_CONTEXTS = 4000
_FEWEST_SAMPLES = 20
_LAYERS = {
    Layer.MAIN: "program",
    Layer.OWN_LIBRARY: "library",
    Layer.THIRD_PARTY: "system-library",
    Layer.PLUG_IN: "plug-in",
    Layer.LIBC: "libc",
    Layer.KERNEL: "kernel",
    Layer.UNKNOWN: "unknown",
}
_CLOCKS: tuple[tuple[ShownClock, Clock], ...] = (("cpu", Clock.CPU), ("blocked", Clock.BLOCKED))


def contexts_section(
    examined: Examined, unit: str, ranking: ContextRanking | None = None, shown_first: ShownClock = "cpu"
) -> ContextsSection | None:
    """None where there is nothing to show. `ranking`: what kernel events say of contexts."""
    index = examined.index
    shown: list[tuple[ShownClock, _Tree]] = [
        (name, _tree_of(costs))
        for name, clock in _CLOCKS
        if _enough(index, clock) and len((costs := _costs(examined, unit, clock)).tree) > 1
    ]
    shown += [(name, _Tree(tree, good, bad)) for name, tree, good, bad in memory_trees(index)]
    heat = None if ranking is None or not ranking.contexts else _heat(ranking)
    if not shown and heat is None:
        return None
    used = np.unique([number for _, tree in shown for number in tree.function.tolist() if number >= 0]).tolist()
    number = {function: at for at, function in enumerate(used)} | {-1: -1}
    layers = layers_of(index)
    return ContextsSection(
        unit=unit,
        compared=bool(index.good),
        shown=shown_first,
        functions=tuple(_function(index, function, layers[function]) for function in used),
        trees=tuple(tree.columns(clock, number) for clock, tree in shown),
        heat=heat,
        memory=memory_over_time(index),
    )


def _enough(index: FunctionIndex, clock: Clock) -> bool:
    """Whether differences can be seen at all: a handful of samples differ in everything."""
    samples = sum(run.time(clock).total_samples for run in (*index.good, *index.bad))
    return not index.good or samples >= _FEWEST_SAMPLES


def _heat(ranking: ContextRanking) -> HeatMap:
    return HeatMap(
        ranking.unit,
        tuple(
            HeatContext(
                row.share,
                row.good,
                row.bad,
                tuple(HeatStep(step.function, step.module, step.layer, step.added) for step in row.steps),
                row.hot,
            )
            for row in map(without_tracing, ranking.contexts)
        ),
    )


def _costs(examined: Examined, unit: str, clock: Clock) -> Costs:
    excess = examined.excess
    if excess is not None and excess.clock is clock:
        return excess.full
    return measure(examined.index, examined.units(unit), clock, folded=False)


class _Tree:
    """What remains of a context tree when contexts too small to be seen are summed up in their callers."""

    def __init__(self, tree: ContextTree, good: Floats, bad: Floats) -> None:
        good_below, bad_below = tree.inclusive(good), tree.inclusive(bad)
        # A caller weighs at least as much as what it calls, and comes before it: no context is kept without its caller.
        order = np.argsort(-np.maximum(good_below, bad_below), kind="stable")
        kept = np.sort(order[: MOST_CONTEXTS + 1])
        place = np.full(len(tree), -1, np.int64)
        place[kept] = np.arange(len(kept))
        left_out = np.flatnonzero(place < 0)
        heads = left_out[place[tree.parent[left_out]] >= 0]
        under, sums_at = np.unique(tree.parent[heads], return_inverse=True)
        self.left_out = len(left_out)
        self.parent = np.concatenate([place[tree.parent[kept]], place[under]])
        self.function = np.concatenate([tree.function[kept], np.full(len(under), -1)])
        self.good, self.bad = (
            np.concatenate([own[kept], np.bincount(sums_at, below[heads], len(under))])
            for own, below in ((good, good_below), (bad, bad_below))
        )

    def columns(self, clock: ShownClock, number: dict[int, int]) -> ContextTreeColumns:
        """Without the root: the outermost functions' caller is -1."""
        return ContextTreeColumns(
            clock=clock,
            parent=tuple((self.parent[1:] - 1).tolist()),
            function=tuple(number[one] for one in self.function[1:].tolist()),
            good=tuple(self.good[1:].tolist()),
            bad=tuple(self.bad[1:].tolist()),
            left_out=self.left_out,
        )


def _tree_of(costs: Costs) -> _Tree:
    size = len(costs.tree)
    return _Tree(costs.tree, _mean(costs.good, size), _mean(costs.bad, size))


def _mean(side: CostSide, size: int) -> Floats:
    return side.mean if side.runs else np.zeros(size)


def _function(index: FunctionIndex, number: int, layer: Layer) -> FrameFunction:
    function = index.functions[number]
    # What a system header brought into the program is not the program's own.
    foreign = layer is Layer.MAIN and not function.own
    shown = _LAYERS[Layer.THIRD_PARTY if foreign else layer]
    return FrameFunction(function.key.name, function.key.module, shown)
