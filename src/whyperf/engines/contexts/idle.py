"""Where threads of a server rest: the place of their loop at which they ask for the next thing to do.

A thread's loop is the innermost context of its own code that nearly everything seen of the thread lies under. Below it
something waits and hardly runs; of several such places it is the one that serves whatever comes next (epoll, accept),
else the one with the fewest functions between, else the one with the most waiting. Each return from it begins an
iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.inference import Followed
from whyperf.engines.contexts.kernels import Flags, Ints
from whyperf.engines.contexts.relevance import members
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.contexts.waits import ready_for_anything
from whyperf.engines.run import Floats, Run, sums


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen of one thread, by node; inclusive of everything below where it says so."""

    nodes: Ints
    count: Floats
    waited: Floats
    ready: Floats  # part of `waited`: in calls that serve whatever comes next
    ran: Floats


def idle_places(
    run: Run, followed: Followed, contexts: Contexts, mechanism: Flags, settings: ContextsSettings
) -> Flags:
    """The idle places of all of the program's threads in one run, with everything below them, as flags of nodes."""
    heads = np.zeros(len(contexts), np.bool_)
    for seen in _by_thread(run, followed):
        place = _resting_place(seen, contexts, mechanism, settings)
        if place is not None:
            heads[place] = True
    return below(contexts, heads)


def below(contexts: Contexts, heads: Flags) -> Flags:
    """The nodes with everything below them."""
    flags = heads.copy()
    parents = contexts.tree.parent
    for node in range(1, len(contexts)):
        if flags[parents[node]]:
            flags[node] = True
    return flags


def _by_thread(run: Run, followed: Followed) -> list[_Seen]:
    who, waits, samples = members(run), followed.waits, followed.samples
    blocked = (waits["state"] != 0) & (waits["node"] > 0)
    waits, samples = waits[blocked], samples[samples["node"] > 0]
    thread = np.concatenate([waits["thread"], samples["thread"]]).astype(np.int64)
    node = np.concatenate([waits["node"], samples["node"]]).astype(np.int64)
    seconds = (waits["woken"] - waits["start"]) / 1e9
    nothing = np.zeros(len(samples))
    waited = np.concatenate([seconds, nothing])
    ready = np.concatenate([np.where(ready_for_anything(waits), seconds, 0.0), nothing])
    ran = np.concatenate([np.zeros(len(waits)), samples["weight"] / 1e9])
    keys, where, counts = np.unique(thread << 32 | node, return_inverse=True, return_counts=True)
    columns = [sums(where, values, len(keys)) for values in (waited, ready, ran)]
    starts = np.flatnonzero(np.diff(keys >> 32, prepend=-1))
    ends = [*starts[1:].tolist(), len(keys)]
    return [
        _Seen(keys[begin:end] & 0xFFFFFFFF, counts[begin:end].astype(np.float64), *(c[begin:end] for c in columns))
        for begin, end in zip(starts.tolist(), ends, strict=True)
        if who.program[keys[begin] >> 32]
    ]


@dataclass
class _Place:
    """What a loop calls, with everything below it."""

    waited: float = 0.0
    ready: float = 0.0
    ran: float = 0.0
    between: int = 1 << 30  # functions between the loop and the wait, at least

    def rests(self, settings: ContextsSettings) -> bool:
        return self.waited > 0 and self.ran <= settings.idle_running * self.waited


def _resting_place(seen: _Seen, contexts: Contexts, mechanism: Flags, settings: ContextsSettings) -> int | None:
    """The node that the thread's loop calls to wait."""
    paths = [contexts.path(node) for node in seen.nodes.tolist()]
    depth = _loop_depth(paths, seen.count, mechanism, settings)
    # Everything of the loop shares the path down to it, by its definition; the rest is start and end.
    common = [path[:depth] for path in paths]
    loop = max(common, key=common.count)
    places: dict[int, _Place] = {}
    for at, path in enumerate(paths):
        if len(path) > depth and path[:depth] == loop:
            place = places.setdefault(path[depth], _Place())
            place.waited += float(seen.waited[at])
            place.ready += float(seen.ready[at])
            place.ran += float(seen.ran[at])
            place.between = min(place.between, sum(not mechanism[node] for node in path[depth:]))
    return min(
        (node for node, place in places.items() if place.rests(settings)),
        key=lambda node: (2 * places[node].ready <= places[node].waited, places[node].between, -places[node].waited),
        default=None,
    )


def _loop_depth(paths: list[list[int]], count: Floats, mechanism: Flags, settings: ContextsSettings) -> int:
    """How many functions the path from the thread's entry to its loop has."""
    depth, enough = 0, settings.loop_cover * float(count.sum())
    while True:
        under: dict[int, float] = {}
        for path, times in zip(paths, count.tolist(), strict=True):
            if not all(mechanism[node] for node in path[depth:]):
                under[path[depth]] = under.get(path[depth], 0.0) + times
        if max(under.values(), default=0.0) < enough or not under:
            return depth
        depth += 1
