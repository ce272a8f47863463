"""Tasks that stayed in their queue far longer than tasks of their kind do: something else was run before them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.causes.arrays import Ints
from whyperf.engines.causes.graph import Graph
from whyperf.engines.causes.limits import Limits
from whyperf.engines.causes.path import Anomaly
from whyperf.engines.causes.roles import Roles


@dataclass(frozen=True)
class TaskKind:
    """What makes two tasks comparable: their queue, what they run, and who puts them, as functions."""

    queue: str
    runs: tuple[str, ...]
    put_by: tuple[str, ...]

    @property
    def broader(self) -> tuple[TaskKind, ...]:
        return self, TaskKind(self.queue, self.runs, ()), TaskKind(self.queue, (), ())


def late_tasks(stalled: Roles, normals: Sequence[Roles], limits: Limits) -> list[Anomaly]:
    """Of each kind the one that stayed longest, for every thread that ran such."""
    graph = stalled.graph
    events, tasks, settings = graph.trace.events, graph.tasks, graph.settings
    usual = _stays([one.graph for one in normals] or [graph])
    stayed = events.time[tasks.run] - events.time[tasks.put]
    worst: dict[tuple[TaskKind, int], Anomaly] = {}
    for row in np.flatnonzero(stayed > limits.known).tolist():
        thread = int(events.thread[tasks.run[row]])
        if not graph.trace.followed[thread]:
            continue
        kind = task_kind(graph, row)
        normal, instances = _normal(usual, kind, None if normals else settings.own_normal_quantile)
        excess = int(stayed[row]) - normal
        if excess <= int(limits.for_instances(np.array(instances))) or stayed[row] <= settings.excess_factor * normal:
            continue
        begin, end = int(events.time[tasks.put[row]]), int(events.time[tasks.run[row]])
        found = Anomaly(thread, begin, end, excess, normal, instances, task=row)
        if (kind, thread) not in worst or worst[kind, thread].excess < excess:
            worst[kind, thread] = found
    return list(worst.values())


def task_kind(graph: Graph, row: int) -> TaskKind:
    site, functions = graph.trace.events.site, graph.trace.stacks.functions
    put, run = int(graph.tasks.put[row]), int(graph.tasks.run[row])
    queue = graph.trace.queues[graph.tasks.queue[row]].name
    return TaskKind(queue, functions(int(site[run]))[:1], functions(int(site[put]))[:2])


def _stays(graphs: Sequence[Graph]) -> Mapping[TaskKind, Ints]:
    """How long tasks stayed in their queues, by kind and by every broader one."""
    found: dict[TaskKind, list[int]] = defaultdict(list)
    for graph in graphs:
        events, tasks = graph.trace.events, graph.tasks
        stayed = (events.time[tasks.run] - events.time[tasks.put]).tolist()
        for row, length in enumerate(stayed):
            for kind in task_kind(graph, row).broader:
                found[kind].append(length)
    return {kind: np.array(lengths, np.int64) for kind, lengths in found.items()}


def _normal(usual: Mapping[TaskKind, Ints], kind: TaskKind, quantile: float | None) -> tuple[int, int]:
    """How long its like stay at most (of a single recording: nearly all of them), and how many those are."""
    known = next((usual[one] for one in kind.broader if one in usual), np.zeros(0, np.int64))
    if not len(known):
        return 0, 0
    return int(known.max() if quantile is None else np.quantile(known, quantile)), len(known)
