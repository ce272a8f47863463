"""Which waits and turns are out of the ordinary (rule 4), without being told when or where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from whyperf.engines.arrays import Bools, Ints
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.path import Anomaly
from whyperf.engines.causes.roles import ThreadRole, ThreadRoles
from whyperf.engines.causes.stalls.late_tasks import late_tasks
from whyperf.engines.causes.stalls.limits import StallLimits, close_limits, usual_limits
from whyperf.engines.causes.stalls.loop_turns import find_turns
from whyperf.engines.kernel.rules import CallRule
from whyperf.recording.schemas.events import EventKind


def find_anomalies(stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> list[Anomaly]:
    """Largest excess first. Short ones only where nothing else is found: who waits for seconds has other worries. The
    last to be asked are threads that waited far longer for work than ever: whoever feeds them may have stalled."""
    usual = usual_limits(stalled, normals)
    found = _beyond(stalled, normals, usual)
    if not found and normals:
        found = _beyond(stalled, normals, close_limits(stalled, normals))
    if not found and normals:
        found = _long_waits(stalled, normals, usual, stalled.graph.in_loop)
        found = [one for one in found if one.instances >= stalled.graph.settings.short_normal_waits]
    return sorted(found, key=lambda one: -one.excess)


def _beyond(stalled: ThreadRoles, normals: Sequence[ThreadRoles], limits: StallLimits) -> list[Anomaly]:
    found = _long_waits(stalled, normals, limits, ~stalled.graph.idle)
    found += _long_turns(stalled, normals, limits, found)
    found += late_tasks(stalled, normals, limits)
    if not found:
        # A client that waits among many descriptors looks idle: its waits for answers count where nothing else does.
        found = _long_waits(stalled, normals, limits, stalled.graph.in_loop & stalled.graph.asks)
        found = [one for one in found if one.instances >= stalled.graph.settings.own_normal_waits]
    return found


def _long_waits(
    stalled: ThreadRoles, normals: Sequence[ThreadRoles], limits: StallLimits, which: Bools
) -> list[Anomaly]:
    graph = stalled.graph
    lasted = graph.ends - graph.waits.begin
    normal, count = _normal_waits(stalled, normals, lasted)
    least = limits.for_instances(count)
    which = which & _of_programs(graph) & ~_for_children(graph) & ~graph.cut_by_exit
    long = which & is_excess(lasted, normal, least, graph.settings.excess_factor)
    if not normals:
        # A recording's own past says nothing of sites that it has hardly any waits at, but for their length.
        bits = graph.call_bits[graph.trace.events.call[graph.waits.first]]
        plain_sleep = (bits & CallRule.SLEEP != 0) & (graph.waits.sleeps < graph.settings.polls)
        long &= ~plain_sleep
    return [
        Anomaly(
            int(graph.waits.thread[row]),
            int(graph.waits.begin[row]),
            int(graph.ends[row]),
            int(lasted[row] - normal[row]),
            int(normal[row]),
            int(count[row]),
            int(row),
        )
        for row in np.flatnonzero(long)
    ]


def is_excess(lasted: Ints, normal: Ints, least: Ints, factor: float) -> Bools:
    over: Bools = (lasted - normal > least) & (lasted > factor * normal)
    return over


def _of_programs(graph: Graph) -> Bools:
    """Waits of the kernel's own threads, and of others that were not recorded for their own sake, are no stall."""
    followed: Bools = graph.trace.followed[graph.waits.thread]
    return followed


def _for_children(graph: Graph) -> Bools:
    """Waits for the end of a child that was recorded too: what that does is judged by itself."""
    events, trace = graph.trace.events, graph.trace
    forks = np.flatnonzero((events.kind == EventKind.FORK) & (events.thread >= 0) & (events.other >= 0))
    parent, child = events.thread[forks], events.other[forks]
    seen = trace.followed[child] & (trace.pids[child] != trace.pids[parent])
    waiting = graph.call_bits[events.call[graph.waits.first]] & CallRule.CHILD != 0
    found: Bools = waiting & np.isin(trace.pids[graph.waits.thread], trace.pids[parent[seen]])
    return found


def _normal_waits(stalled: ThreadRoles, normals: Sequence[ThreadRoles], lasted: Ints) -> tuple[Ints, Ints]:
    """By wait how long its like lasts at most, and how many there were."""
    if not normals:
        return _own_normal(stalled, lasted)
    longest, counts = [], []
    for signature in stalled.signatures:
        seen = [each for one in normals for each in one.like(signature)]
        longest.append(max((int(each[-1]) for each in seen), default=0))
        counts.append(sum(len(each) for each in seen))
    return np.array(longest, np.int64)[stalled.signature_of], np.array(counts, np.int64)[stalled.signature_of]


def _own_normal(stalled: ThreadRoles, lasted: Ints) -> tuple[Ints, Ints]:
    """Of a single recording: a high quantile of the same site's other waits."""
    settings = stalled.graph.settings
    normal, count = np.zeros(len(lasted), np.int64), np.zeros(len(lasted), np.int64)
    for number, signature in enumerate(stalled.signatures):
        mine = np.flatnonzero(stalled.signature_of == number)
        each = stalled.durations[signature]
        count[mine] = len(each) - 1
        if len(each) > settings.own_normal_waits:
            normal[mine] = int(np.quantile(each, settings.own_normal_quantile))
    return normal, count


def _long_turns(
    stalled: ThreadRoles, normals: Sequence[ThreadRoles], limits: StallLimits, waits: Sequence[Anomaly]
) -> list[Anomaly]:
    """Turns in which no single wait is long enough to be one itself: the thread worked, or was kept from it."""
    graph = stalled.graph
    own = find_turns(graph)
    normal = _turn_lengths(normals) if normals else _turn_lengths([stalled])
    quantile = 1.0 if normals else graph.settings.own_normal_quantile
    usuals = {role: int(np.quantile(lengths, quantile)) for role, lengths in normal.items()}
    by_thread = defaultdict(list)
    for one in waits:
        by_thread[one.thread].append(one)
    found = []
    for row in np.flatnonzero(own.end - own.begin > limits.known).tolist():
        thread, begin, end = int(own.thread[row]), int(own.begin[row]), int(own.end[row])
        if not graph.trace.followed[thread]:
            continue
        role = stalled.of_thread[thread]
        known = next((one for one in role.broader if one in usuals), role)
        usual, instances = usuals.get(known, 0), len(normal.get(known, ()))
        least = int(limits.for_instances(np.array(instances)))
        if end - begin - usual <= least or end - begin <= graph.settings.excess_factor * usual:
            continue
        if any(one.begin < end and one.end > begin for one in by_thread[thread]):
            continue
        if _mostly_idle(graph, thread, begin, end):
            continue
        found.append(Anomaly(thread, begin, end, end - begin - usual, usual, instances))
    return found


def _mostly_idle(graph: Graph, thread: int, begin: int, end: int) -> bool:
    rows = graph.waits_of(thread)
    # A thread's waits do not overlap: those that reach into the window lie together.
    first = rows.start + int(np.searchsorted(graph.ends[rows.start : rows.stop], begin))
    span = slice(first, rows.start + int(np.searchsorted(graph.waits.begin[rows.start : rows.stop], end)))
    inside = np.minimum(graph.ends[span], end) - np.maximum(graph.waits.begin[span], begin)
    idle = inside[graph.idle[span] & (inside > 0)].sum()
    return bool(idle > (end - begin) / 2)


def _turn_lengths(all_roles: Sequence[ThreadRoles]) -> dict[ThreadRole, Ints]:
    """By role, and by every broader one."""
    found: dict[ThreadRole, list[Ints]] = defaultdict(list)
    for roles in all_roles:
        turns = find_turns(roles.graph)
        bounds = np.searchsorted(turns.thread, np.arange(len(roles.of_thread) + 1))
        for thread, role in enumerate(roles.of_thread):
            mine = slice(int(bounds[thread]), int(bounds[thread + 1]))
            if mine.start < mine.stop:
                lengths = turns.end[mine] - turns.begin[mine]
                for one in dict.fromkeys(role.broader):
                    found[one].append(lengths)
    return {role: np.concatenate(pieces) for role, pieces in found.items()}
