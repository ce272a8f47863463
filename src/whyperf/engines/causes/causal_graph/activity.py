"""What a thread did within a window: which waits, how long it ran, how long it only wanted to."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.grouping import grouped
from whyperf.engines.run import column
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.schemas.tables import Clock


@dataclass(frozen=True)
class Waited:
    """All waits at one site, within the window."""

    total: int
    longest: int  # row of the waits: the longest one, or the one that tells what it was for
    begin: int  # of the longest, within the window
    end: int


@dataclass(frozen=True)
class Ran:
    total: int
    segment: int  # the longest one
    begin: int
    end: int


@dataclass(frozen=True)
class Activity:
    waited: tuple[Waited, ...]  # most time first
    ran: Ran | None

    @property
    def mostly_waited(self) -> Waited | None:
        """The site at which most of the time went, if waiting took more of it than running."""
        if not self.waited or (self.ran is not None and self.ran.total >= self.waited[0].total):
            return None
        return self.waited[0]


def activity(graph: Graph, thread: int, begin: int, end: int) -> Activity:
    return Activity(_waited(graph, thread, begin, end), _ran(graph, thread, begin, end))


def _waited(graph: Graph, thread: int, begin: int, end: int) -> tuple[Waited, ...]:
    """By site, since a thread that fails a hundred times for 10 ms at one place was kept there for a second."""
    rows = graph.waits_of(thread)
    first, last = graph.waits.begin[rows.start : rows.stop], graph.ends[rows.start : rows.stop]
    low, high = np.maximum(first, begin), np.minimum(last, end)
    inside = np.flatnonzero(high > low)
    switch = graph.waits.first[rows.start + inside]
    sites, of_wait = groups(graph.trace.events.call[switch], graph.trace.events.site[switch])
    start, order = grouped(of_wait, len(sites))
    found = []
    for site in range(len(sites)):
        rows_at = inside[order[start[site] : start[site + 1]]]
        lengths = high[rows_at] - low[rows_at]
        longest = int(rows_at[np.argmax(lengths)])
        told = _told_by(graph, rows.start, rows_at, longest)
        found.append(Waited(int(lengths.sum()), rows.start + told, int(low[longest]), int(high[told])))
    return tuple(sorted(found, key=lambda one: -one.total))


def _told_by(graph: Graph, start: int, rows: Ints, longest: int) -> int:
    """The wait that tells whom a series was for: the longest one; if a timer ended that, the next one that somebody
    ended (PostgreSQL looks for deadlocks after a second, then waits on for the same lock)."""
    ended = graph.waits.ended
    if ended[start + longest] != Ended.TIMER:
        return longest
    later = rows[(rows > longest) & (ended[start + rows] == Ended.THREAD)]
    return int(later[0]) if len(later) else longest


def _ran(graph: Graph, thread: int, begin: int, end: int) -> Ran | None:
    """From being woken on: the time until a CPU was free is a part of it."""
    rows = graph.segments.of(thread)
    first, last = graph.ready[rows.start : rows.stop], graph.segments.end[rows.start : rows.stop]
    low, high = np.maximum(first, begin), np.minimum(last, end)
    lengths = np.maximum(high - low, 0)
    if not lengths.any():
        return None
    longest = int(np.argmax(lengths))
    return Ran(int(lengths.sum()), rows.start + longest, int(low[longest]), int(high[longest]))


def kept_from_cpu(graph: Graph, thread: int, begin: int, end: int) -> Counter[int]:
    """How long a thread was ready to run without getting a CPU, by whoever had taken it from the thread."""
    events = graph.trace.events
    low, high = np.searchsorted(events.time, [begin, end])
    mine = (events.thread[low:high] == thread) | (events.other[low:high] == thread)
    rows = low + np.flatnonzero(mine & (events.kind[low:high] == EventKind.SWITCH))
    kept: Counter[int] = Counter()
    since, rival = begin, -1
    off = bool(len(rows)) and int(events.other[rows[0]]) == thread
    for row in rows:
        if int(events.other[row]) == thread:
            if off:
                kept[rival if since > begin else int(events.thread[row])] += int(events.time[row]) - since
            off = False
        else:
            since, rival, off = int(events.time[row]), int(events.other[row]), int(events.result[row]) == 0
    if off:
        kept[rival] += end - since
    return kept


def samples_in(graph: Graph, thread: int, begin: int, end: int) -> list[int]:
    """Stack nodes at which it was seen on a CPU."""
    events = graph.trace.events
    low, high = np.searchsorted(events.time, [begin, end])
    mine = (events.kind[low:high] == EventKind.SAMPLE) & (events.thread[low:high] == thread)
    nodes = events.site[low:high][mine]
    if not mine.any():
        nodes = _sampled(graph, thread, begin, end)
    return [int(node) for node in nodes if node >= 0]


def _sampled(graph: Graph, thread: int, begin: int, end: int) -> Int32s:
    """What the sampler in the target saw, where the tracer took no samples."""
    table = graph.trace.recording.table("samples")
    time, inside = column(table, "time"), column(table, "thread") == thread
    inside &= (time >= begin) & (time <= end) & (column(table, "clock") == Clock.CPU)
    nodes: Int32s = graph.trace.stacks.outside_kernel[column(table, "stack")[inside]]
    return nodes


def common_place(graph: Graph, nodes: list[int]) -> int:
    """The innermost call path of functions below which most of the samples lie, the costly call (section 6.3): of its
    stack nodes that with the most samples; -1: none."""
    stacks = graph.trace.stacks
    below: defaultdict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for node in nodes:
        at = node
        while at >= 0:
            below[stacks.functions(at)][at] += 1
            at = int(stacks.parent[at])
    common = [path for path, seen in below.items() if seen.total() > len(nodes) / 2]
    return below[max(common, key=len)].most_common(1)[0][0] if common else -1
