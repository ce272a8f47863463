"""How often threads went round their loops: what windows of time are compared by.

Different loops have nothing to do with each other: each one's time is taken per its own iteration, as many of them as
the good runs made. A loop that made too few in some run cannot be compared, nor can what is in no loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.inference import FollowedRun
from whyperf.engines.contexts.records import Flags, Ints
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.run import Floats, Run, sums


@dataclass(frozen=True, eq=False)
class Iterations:
    count: Mapping[Run, float]  # of the loops that can be compared
    factor: Mapping[Run, Floats]  # by node: what seconds are multiplied by to be per iteration

    @property
    def comparable(self) -> bool:
        return min(self.count.values()) > 0


def count_iterations(
    good: Sequence[Run],
    followed: Mapping[Run, FollowedRun],
    places: Flags,
    contexts: Contexts,
    settings: ContextsSettings,
) -> Iterations:
    """`places`: where loops rest, without what is below."""
    loop = _loops(contexts, places)
    size = len(contexts)
    at_rest = np.zeros(size, np.bool_)
    for node in range(1, size):
        at_rest[node] = places[node] or at_rest[contexts.tree.parent[node]]
    # Calls need not have blocked; but where their stacks were left out for a while, only waits were all seen.
    by_calls = not any(run.manifest.trace is None or run.manifest.trace.shed for run in followed)
    turns = {run: _turns(one, loop, at_rest, by_calls=by_calls) for run, one in followed.items()}
    usable = np.min(list(turns.values()), axis=0) >= settings.enough_iterations
    usable[0] = False  # what is in no loop
    usual = np.where(usable, np.mean([turns[run] for run in good], axis=0), 0.0)
    total = max(float(usual.sum()), 1.0)
    factor = {}
    for run, made in turns.items():
        each = np.divide(usual, made * total, out=np.zeros(size), where=usable & (made > 0))
        factor[run] = each[loop]
    return Iterations({run: float(made[usable].sum()) for run, made in turns.items()}, factor)


def _loops(contexts: Contexts, places: Flags) -> Ints:
    """For every node the innermost loop around it; 0 where there is none."""
    parent = contexts.tree.parent
    is_loop = np.zeros(len(contexts), np.bool_)
    is_loop[parent[np.flatnonzero(places)]] = True
    is_loop[0] = False
    loop = np.zeros(len(contexts), np.int64)
    for node in range(1, len(contexts)):
        loop[node] = node if is_loop[node] else loop[parent[node]]
    return loop


def _turns(followed: FollowedRun, loop: Ints, at_rest: Flags, *, by_calls: bool) -> Floats:
    """Returns from idle places, by loop."""
    size = len(loop)
    if by_calls:
        calls = followed.calls
        resting = at_rest[calls.node]
        return sums(loop[calls.node[resting]], calls.count[resting].astype(np.float64), size)
    waits = followed.waits
    resting = np.append(at_rest, False)[waits["node"]] & (waits["state"] != 0)
    nodes = waits["node"][resting]
    return sums(loop[nodes], np.ones(len(nodes)), size)
