"""What a user would have had without us: longest off-CPU stacks, wake-up chains, the critical path."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyperf.engines.causes.causal_graph.activity import common_place, samples_in
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.path import Anomaly


@dataclass(frozen=True)
class Blamed:
    """Whom a simpler method points at."""

    thread: int
    node: int
    time: int


def longest_off_cpu(graph: Graph) -> list[Blamed]:
    """Time asleep by thread and stack, most first (what `offcputime` shows)."""
    waits, events = graph.waits, graph.trace.events
    lasted = graph.ends - waits.begin
    site = events.site[waits.first]
    first, where = groups(waits.thread, site)
    total = np.bincount(where, weights=lasted)
    return [Blamed(int(waits.thread[first[one]]), int(site[first[one]]), int(total[one])) for one in np.argsort(-total)]


def wake_up_chains(graph: Graph) -> list[Blamed]:
    """Time asleep by who ended it, most first (what `offwaketime` shows)."""
    waits, events = graph.waits, graph.trace.events
    woken = np.flatnonzero((waits.wake >= 0) & (waits.ended == Ended.THREAD))
    wake = waits.wake[woken]
    lasted = (graph.ends - waits.begin)[woken]
    waker, site = events.thread[wake], events.site[wake]
    first, where = groups(waits.thread[woken], waker, site)
    total = np.bincount(where, weights=lasted)
    return [Blamed(int(waker[first[one]]), int(site[first[one]]), int(total[one])) for one in np.argsort(-total)]


def critical_path(graph: Graph, anomaly: Anomaly, most_steps: int = 10_000) -> list[Blamed]:
    """Backwards from the stall's end: while a thread runs it is on the path, when it was woken its waker is.

    Threads by their time on the path within the stall, most first.
    """
    spent: Counter[tuple[int, int]] = Counter()
    thread, time = anomaly.thread, anomaly.end
    for _ in range(most_steps):
        if time <= anomaly.begin:
            break
        wait = _last_wait(graph, thread, time)
        if wait < 0:
            spent[thread, _node(graph, thread, anomaly.begin, time)] += time - anomaly.begin
            break
        ran_from = int(graph.waits.resumed[wait]) if graph.waits.resumed[wait] >= 0 else time
        node = int(graph.trace.events.site[graph.waits.first[wait]])
        if ran_from < time:
            since = max(ran_from, anomaly.begin)
            spent[thread, _node(graph, thread, since, time)] += time - since
        wake = int(graph.waits.wake[wait])
        if wake < 0 or graph.waits.ended[wait] != Ended.THREAD:
            spent[thread, node] += min(ran_from, time) - max(int(graph.waits.begin[wait]), anomaly.begin)
            time = int(graph.waits.begin[wait])
            continue
        thread, time = int(graph.trace.events.thread[wake]), int(graph.trace.events.time[wake])
    return [Blamed(who, node, total) for (who, node), total in spent.most_common() if total > 0]


def _last_wait(graph: Graph, thread: int, time: int) -> int:
    rows = graph.waits_of(thread)
    at = int(np.searchsorted(graph.waits.begin[rows.start : rows.stop], time, side="left")) - 1
    return rows.start + at if at >= 0 else -1


def _node(graph: Graph, thread: int, begin: int, end: int) -> int:
    """Where most of a run's samples agree, else what it was seen doing last."""
    place = common_place(graph, samples_in(graph, thread, begin, end))
    segment = graph.segments.at(thread, end)
    if place >= 0 or segment < 0:
        return place
    sites = graph.trace.events.site[graph.segments.events_of(segment)]
    known = sites[sites >= 0]
    return int(known[-1]) if len(known) else -1
