"""Tasks that stayed in their queue far longer than tasks of their kind do: something else was run before them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Int32s, Ints
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.path import Anomaly
from whyperf.engines.causes.roles import ThreadRoles
from whyperf.engines.causes.stalls.limits import StallLimits


@dataclass(frozen=True)
class TaskKind:
    """What makes two tasks comparable: their queue, what they run, and who puts them, as functions."""

    queue: str
    runs: tuple[str, ...]
    put_by: tuple[str, ...]

    @property
    def broader(self) -> tuple[TaskKind, ...]:
        return self, TaskKind(self.queue, self.runs, ()), TaskKind(self.queue, (), ())


def late_tasks(stalled: ThreadRoles, normals: Sequence[ThreadRoles], limits: StallLimits) -> list[Anomaly]:
    """Of each kind the one that stayed longest, for every thread that ran such."""
    graph = stalled.graph
    events, tasks, settings = graph.trace.events, graph.tasks, graph.settings
    usual = _stays([one.graph for one in normals] or [graph])
    stayed = events.time[tasks.run] - events.time[tasks.put]
    kinds, of_task = _kinds(graph)
    worst: dict[tuple[TaskKind, int], Anomaly] = {}
    for row in np.flatnonzero(stayed > limits.known).tolist():
        thread = int(events.thread[tasks.run[row]])
        if not graph.trace.followed[thread]:
            continue
        kind = kinds[of_task[row]]
        normal, instances = _normal(usual, kind, None if normals else settings.own_normal_quantile)
        excess = int(stayed[row]) - normal
        if excess <= int(limits.for_instances(np.array(instances))) or stayed[row] <= settings.excess_factor * normal:
            continue
        begin, end = int(events.time[tasks.put[row]]), int(events.time[tasks.run[row]])
        found = Anomaly(thread, begin, end, excess, normal, instances, task=row)
        if (kind, thread) not in worst or worst[kind, thread].excess < excess:
            worst[kind, thread] = found
    return list(worst.values())


def _kinds(graph: Graph) -> tuple[list[TaskKind], Int32s]:
    """All kinds, some perhaps twice, and by task the number of its own."""
    tasks, functions = graph.tasks, graph.trace.stacks.functions
    put, run = graph.trace.events.site[tasks.put], graph.trace.events.site[tasks.run]
    first, of_task = groups(tasks.queue, put, run)
    kinds = [
        TaskKind(graph.trace.queues[tasks.queue[row]].name, functions(int(run[row]))[:1], functions(int(put[row]))[:2])
        for row in first.tolist()
    ]
    return kinds, of_task


def _stays(graphs: Sequence[Graph]) -> Mapping[TaskKind, Ints]:
    """How long tasks stayed in their queues, by kind and by every broader one."""
    found: dict[TaskKind, list[Ints]] = defaultdict(list)
    for graph in graphs:
        events, tasks = graph.trace.events, graph.tasks
        kinds, of_task = _kinds(graph)
        order = np.argsort(of_task, kind="stable")
        stayed = (events.time[tasks.run] - events.time[tasks.put])[order]
        bounds = np.searchsorted(of_task[order], np.arange(len(kinds) + 1)).tolist()
        for number, kind in enumerate(kinds):
            for one in kind.broader:
                found[one].append(stayed[bounds[number] : bounds[number + 1]])
    return {kind: np.concatenate(lengths) for kind, lengths in found.items()}


def _normal(usual: Mapping[TaskKind, Ints], kind: TaskKind, quantile: float | None) -> tuple[int, int]:
    """How long its like stay at most (of a single recording: nearly all of them), and how many those are."""
    known = next((usual[one] for one in kind.broader if one in usual), np.zeros(0, np.int64))
    if not len(known):
        return 0, 0
    return int(known.max() if quantile is None else np.quantile(known, quantile)), len(known)
