"""What a thread did within a window: which waits, how long it ran, how long it only wanted to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyperf.engines.causes.arrays import Int32s, Ints
from whyperf.engines.causes.graph import Graph
from whyperf.engines.run import column
from whyperf.recording.events import EventKind
from whyperf.recording.tables import Clock


@dataclass(frozen=True)
class Waited:
    """All waits at one site, within the window."""

    total: int
    longest: int  # row of the waits
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
    sites: dict[tuple[int, int], list[int]] = {}
    events, waits = graph.trace.events, graph.waits
    for at in inside.tolist():
        switch = waits.first[rows.start + at]
        sites.setdefault((int(events.call[switch]), int(events.site[switch])), []).append(at)
    found = []
    for rows_at in sites.values():
        lengths = high[rows_at] - low[rows_at]
        longest = rows_at[int(np.argmax(lengths))]
        found.append(Waited(int(lengths.sum()), rows.start + longest, int(low[longest]), int(high[longest])))
    return tuple(sorted(found, key=lambda one: -one.total))


def _ran(graph: Graph, thread: int, begin: int, end: int) -> Ran | None:
    rows = graph.segments.of(thread)
    first, last = graph.segments.begin[rows.start : rows.stop], graph.segments.end[rows.start : rows.stop]
    low, high = np.maximum(first, begin), np.minimum(last, end)
    lengths = np.maximum(high - low, 0)
    if not lengths.any():
        return None
    longest = int(np.argmax(lengths))
    return Ran(int(lengths.sum()), rows.start + longest, int(low[longest]), int(high[longest]))


def on_cpu(graph: Graph, begin: int, end: int) -> Counter[int]:
    """How long each thread had a CPU; threads that ran all the while without a switch are not in it."""
    events = graph.trace.events
    low, high = np.searchsorted(events.time, [begin, end])
    rows = low + np.flatnonzero(events.kind[low:high] == EventKind.SWITCH)
    cpus: Ints = graph.trace.cpu[rows].astype(np.int64)
    spent: Counter[int] = Counter()
    since: dict[int, tuple[int, int]] = {}
    for row, cpu in zip(rows.tolist(), cpus.tolist(), strict=True):
        leaving, time = int(events.thread[row]), int(events.time[row])
        spent[leaving] += time - since.get(cpu, (0, begin))[1]
        since[cpu] = (int(events.other[row]), time)
    for thread, time in since.values():
        spent[thread] += end - time
    del spent[-1]
    return spent


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


def common_place(graph: Graph, nodes: list[int], part: float = 0.5) -> int:
    """The innermost stack node below which most of the samples lie: the costly call (section 6.3); -1: none."""
    parent = graph.trace.stacks.parent
    below: Counter[int] = Counter()
    for node in nodes:
        at = node
        while at >= 0:
            below[at] += 1
            at = int(parent[at])
    common = [node for node, count in below.items() if count > part * len(nodes)]
    return max(common, key=graph.trace.stacks.depth_of_node, default=-1)
