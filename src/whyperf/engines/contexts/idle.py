"""Where threads of a server rest: the place of their loop at which they ask for the next thing to do.

A thread's loop is the innermost context of its own code that nearly everything seen of the thread lies under. Below it
something waits and hardly runs; of several such places it is the one that serves whatever comes next (epoll, accept, a
condition), else the one with the fewest functions between, else the one with the most waiting. Each return from it
begins an iteration. A loop that rests in libc rests in every such call that waits for the same kind of thing.

Work that waits again and again hides the loop that it is done for: nearly everything lies under the work then. So where
the innermost loop has no place that serves whatever comes next, the loops around it are asked for one that the thread
came back to after it had been working.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.compiled import njit
from whyperf.engines.contexts.indexing import Contexts
from whyperf.engines.contexts.inference import FollowedRun
from whyperf.engines.contexts.records import Flags, Int32s, Ints, Records
from whyperf.engines.contexts.relevance import members
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.kernel.wait_kinds import Kinds, kinds_of, ready_for_anything
from whyperf.engines.run import Floats, Run, sums


@dataclass(frozen=True, eq=False)
class _Seen:
    """What was seen of one thread, by node; inclusive of everything below where it says so."""

    nodes: Ints
    first: Ints
    last: Ints
    count: Floats
    waited: Floats
    ready: Floats  # part of `waited`: in calls that serve whatever comes next
    ran: Floats


class _Scratch:
    """Arrays by node that are empty between uses: count, weight, heaviest callee."""

    def __init__(self, nodes: int) -> None:
        self.arrays = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes, np.int32)

    def hold(self, seen: _Seen) -> None:
        self.arrays[0][seen.nodes] = seen.count


def idle_places(
    run: Run, followed: FollowedRun, contexts: Contexts, mechanism: Flags, settings: ContextsSettings
) -> Flags:
    """The idle places of all of the program's threads in one run, as flags of nodes; without what is below them."""
    heads = np.zeros(len(contexts), np.bool_)
    scratch = _Scratch(len(contexts))
    for seen in _by_thread(run, followed):
        place = _resting_place(seen, contexts, mechanism, scratch, settings)
        if place is not None:
            heads[place] = True
    return heads


def with_siblings(heads: Flags, waits: Sequence[Records], contexts: Contexts, mechanism: Flags) -> Flags:
    """Other calls into libc that the same loops make to wait for the same kind of thing, too."""
    kind = np.zeros(len(contexts), np.int8)
    for rows in waits:
        known = rows["node"] > 0
        _spread_kinds(contexts.tree.parent, mechanism, rows["node"][known], kinds_of(rows)[known], kind)
    parent = contexts.tree.parent
    rests_for: dict[int, set[int]] = {}
    for place in np.flatnonzero(heads & mechanism).tolist():
        rests_for.setdefault(int(parent[place]), set()).add(int(kind[place]))
    flags = heads.copy()
    for node in np.flatnonzero(mechanism & (kind > 0)).tolist():
        flags[node] |= int(kind[node]) in rests_for.get(int(parent[node]), ())
    return flags


@njit(cache=True, nogil=True)
def _spread_kinds(parent: Int32s, mechanism: Flags, nodes: Int32s, kinds: Kinds, kind: Kinds) -> None:
    """To all of libc's and the kernel's functions on the way to a wait its kind."""
    for at in range(len(nodes)):
        node = nodes[at]
        while node > 0 and mechanism[node] and kinds[at] > 0 and kind[node] != kinds[at]:
            kind[node] = kinds[at]
            node = parent[node]


def own_waits(waits: Sequence[Records], nodes: int) -> Flags:
    """Functions that make the system call themselves in which they wait: libc's, where it is linked in."""
    flags = np.zeros(nodes, np.bool_)
    for rows in waits:
        flags[rows["node"][(rows["node"] > 0) & (rows["state"] != 0)]] = True
    return flags


def below(contexts: Contexts, heads: Flags) -> Flags:
    """The nodes with everything below them."""
    flags = heads.copy()
    parents = contexts.tree.parent
    for node in range(1, len(contexts)):
        if flags[parents[node]]:
            flags[node] = True
    return flags


def _by_thread(run: Run, followed: FollowedRun) -> list[_Seen]:
    who, waits, samples = members(run), followed.waits, followed.samples
    blocked = (waits["state"] != 0) & (waits["node"] > 0)
    waits, samples = waits[blocked], samples[samples["node"] > 0]
    thread = np.concatenate([waits["thread"], samples["thread"]]).astype(np.int64)
    time = np.concatenate([waits["start"], samples["time"]])
    node = np.concatenate([waits["node"], samples["node"]]).astype(np.int64)
    seconds = (waits["woken"] - waits["start"]) / 1e9
    nothing = np.zeros(len(samples))
    waited = np.concatenate([seconds, nothing])
    ready = np.concatenate([np.where(ready_for_anything(waits), seconds, 0.0), nothing])
    ran = np.concatenate([np.zeros(len(waits)), samples["weight"] / 1e9])
    keys, where, counts = np.unique(thread << 32 | node, return_inverse=True, return_counts=True)
    first, last = np.full(len(keys), np.iinfo(np.int64).max), np.zeros(len(keys), np.int64)
    np.minimum.at(first, where, time)
    np.maximum.at(last, where, time)
    columns = [
        first,
        last,
        counts.astype(np.float64),
        *(sums(where, values, len(keys)) for values in (waited, ready, ran)),
    ]
    starts = np.flatnonzero(np.diff(keys >> 32, prepend=-1))
    ends = [*starts[1:].tolist(), len(keys)][: len(starts)]
    return [
        _Seen(keys[begin:end] & 0xFFFFFFFF, *(values[begin:end] for values in columns))
        for begin, end in zip(starts.tolist(), ends, strict=True)
        if who.program[keys[begin] >> 32]
    ]


def _resting_place(
    seen: _Seen, contexts: Contexts, mechanism: Flags, scratch: _Scratch, settings: ContextsSettings
) -> int | None:
    """The node that the thread's loop calls to wait."""
    tree = contexts.tree
    scratch.hold(seen)
    loop = _loop(tree.parent, mechanism, seen.nodes, scratch.arrays, settings.loop_cover)
    child, between, level = _callees(tree.parent, tree.depth, mechanism, seen.nodes, loop)
    places, where = np.unique(child, return_inverse=True)
    waited, ready, ran = (sums(where, values, len(places)) for values in (seen.waited, seen.ready, seen.ran))
    nearest, last = np.full(len(places), len(tree.parent)), np.zeros(len(places), np.int64)
    np.minimum.at(nearest, where, between)
    np.maximum.at(last, where, seen.last)
    depth = tree.depth[tree.parent[places]]
    serves = 2 * ready > waited
    # Of the loops around, only what was come back to.
    work_began = np.array([seen.first[level > one].min(initial=np.iinfo(np.int64).max) for one in depth.tolist()])
    eligible = (depth == tree.depth[loop]) | (serves & (last > work_began))
    # What runs in libc and the kernel there is what waiting costs.
    hardly_runs = mechanism[places] | (ran <= settings.idle_running * waited)
    rests = np.flatnonzero((places > 0) & (waited > 0) & hardly_runs & eligible)
    best = min(rests.tolist(), key=lambda at: (not serves[at], -depth[at], nearest[at], -waited[at]), default=None)
    return None if best is None else int(places[best])


@njit(cache=True, nogil=True)
def _loop(parent: Int32s, mechanism: Flags, nodes: Ints, scratch: tuple[Floats, Floats, Int32s], cover: float) -> int:
    """The innermost node of the thread's own code under which so much of everything lies; scratch is left empty."""
    count, weight, heaviest = scratch
    total = 0.0
    for at in range(len(nodes)):
        node, times = nodes[at], count[nodes[at]]
        total += times
        while node > 0 and mechanism[node]:
            node = parent[node]
        while node > 0:
            weight[node] += times
            best = heaviest[parent[node]]
            if best == 0 or weight[node] > weight[best]:
                heaviest[parent[node]] = node
            node = parent[node]
    loop = 0
    while heaviest[loop] > 0 and weight[heaviest[loop]] >= cover * total:
        loop = heaviest[loop]
    for at in range(len(nodes)):
        node = nodes[at]
        count[node] = 0.0
        while node > 0:
            weight[node] = 0.0
            heaviest[parent[node]] = 0
            node = parent[node]
    return loop


@njit(cache=True, nogil=True)
def _callees(parent: Int32s, depth: Int32s, mechanism: Flags, nodes: Ints, loop: int) -> tuple[Ints, Ints, Ints]:
    """For every node where its path leaves the loop's: what is called there (0: nothing, it is on the loop's path), the
    functions between, and the depth of the caller."""
    on_path = np.zeros(depth[loop] + 1, np.int64)
    node = loop
    while node > 0:
        on_path[depth[node]] = node
        node = parent[node]
    child, between = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    level = np.zeros(len(nodes), np.int64)
    for at in range(len(nodes)):
        node, functions = nodes[at], 0
        while depth[node] > depth[loop] or on_path[depth[node]] != node:
            functions += not mechanism[node]
            child[at], node = node, parent[node]
        between[at], level[at] = functions, depth[node]
    return child, between, level
