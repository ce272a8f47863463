"""Turns of threads that loop: from the end of one wait for work to the beginning of the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Int32s, Ints
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.compiled import njit


@dataclass(frozen=True)
class Turns:
    """A row each, by thread in time order."""

    thread: Int32s
    begin: Ints
    end: Ints


def find_turns(graph: Graph) -> Turns:
    """Of threads that have a loop; a turn that the recording's end cuts off counts as far as it goes."""
    looping = np.zeros(len(graph.trace.threads), np.bool_)
    looping[list(graph.loops)] = True
    segments = graph.segments
    most = len(segments)
    found = Turns(np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64))
    count = _turns(
        segments.thread,
        segments.begin,
        segments.end,
        segments.before,
        segments.after,
        segments.turn,
        graph.in_loop,
        graph.ends,
        looping,
        found.thread,
        found.begin,
        found.end,
    )
    return Turns(found.thread[:count], found.begin[:count], found.end[:count])


@njit(cache=True, nogil=True)
def _turns(  # noqa: PLR0917 -- columns
    thread: Int32s,
    begin: Ints,
    end: Ints,
    before: Int32s,
    after: Int32s,
    turn: Bools,
    in_loop: Bools,
    wait_end: Ints,
    looping: Bools,
    threads: Int32s,
    begins: Ints,
    ends: Ints,
) -> int:
    """Fills the last three, and tells how many turns there are."""
    found = 0
    since = np.int64(-1)
    for segment in range(len(thread)):
        if not looping[thread[segment]]:
            continue
        if segment == 0 or thread[segment - 1] != thread[segment]:
            since = np.int64(-1)
        if turn[segment] or (before[segment] >= 0 and in_loop[before[segment]]):
            since = begin[segment]
        last = segment + 1 == len(thread) or thread[segment + 1] != thread[segment]
        over = (after[segment] >= 0 and in_loop[after[segment]]) or (not last and turn[segment + 1])
        if since >= 0 and (over or last):
            threads[found], begins[found] = thread[segment], since
            ends[found] = wait_end[after[segment]] if not over and after[segment] >= 0 else end[segment]
            found += 1
            since = np.int64(-1)
    return found
