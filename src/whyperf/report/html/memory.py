"""Memory on the page: who holds it at the peak and who keeps it, and how much there is over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from whyperf.engines.context_tree import ContextTree
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.holdings import Holdings, holdings_of, holds_memory
from whyperf.engines.memory.contexts import PlacedHoldings, kept, live, place
from whyperf.engines.memory.deciders import mean
from whyperf.engines.run import Floats
from whyperf.recording.schemas.memory_tables import MemoryKind
from whyperf.report.html.model import MemoryOverTime, RunCourse, ShownClock

_MOMENTS = 120  # a point for every five pixels


def memory_trees(index: FunctionIndex) -> Iterator[tuple[ShownClock, ContextTree, Floats, Floats]]:
    """What they are of, and bytes by node in good and bad runs; none where memory was not recorded."""
    runs = (*index.good, *index.bad)
    if not all(holds_memory(run.recording) for run in runs):
        return
    contexts = place(index, {run: holdings_of(run.recording) for run in runs}, folded=False)
    amounts: tuple[tuple[ShownClock, Callable[[PlacedHoldings], Floats]], ...] = (("peak", live), ("kept", kept))
    for name, amount in amounts:
        good, bad = (mean(contexts.by_node(side, amount)) for side in (contexts.good, contexts.bad))
        size = len(contexts.tree)
        sides = [np.zeros(size) if not len(side) else side for side in (good, bad)]
        if sides[0].any() or sides[1].any():
            yield name, contexts.tree, sides[0], sides[1]


def memory_over_time(index: FunctionIndex) -> MemoryOverTime | None:
    runs = (*index.good, *index.bad)
    if not all(holds_memory(run.recording) for run in runs):
        return None
    pages = {run: holdings_of(run.recording, MemoryKind.PAGE) for run in runs}
    resident = all(len(one) for one in pages.values())
    held = pages if resident else {run: holdings_of(run.recording) for run in runs}
    sides = ((True, index.good), (False, index.bad))
    courses = [_course(held[run], good, number) for good, side in sides for number, run in enumerate(side, 1)]
    return MemoryOverTime(resident, tuple(courses))


def _course(held: Holdings, good: bool, number: int) -> RunCourse:
    """Lowest, last and highest amounts around each moment."""
    first, last = held.window
    edges = np.linspace(first, last, _MOMENTS + 1)
    row = np.searchsorted(held.curve.time, edges, "right") - 1
    amount = np.where(row >= 0, held.curve.bytes[np.maximum(row, 0)], 0.0) if len(held) else np.zeros(len(edges))
    high, low = amount.copy(), amount.copy()
    cell = np.minimum(np.searchsorted(edges, held.curve.time), _MOMENTS)
    np.maximum.at(high, cell, held.curve.bytes)
    np.minimum.at(low, cell, held.curve.bytes)
    seconds = (edges - first) / 1e9
    lowest, middle, highest = (tuple(np.round(values).tolist()) for values in (low, amount, high))
    return RunCourse(good, number, tuple(np.round(seconds, 6).tolist()), lowest, middle, highest)
