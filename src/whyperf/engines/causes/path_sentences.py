"""Paths in plain words."""

from __future__ import annotations

import numpy as np

from whyperf.engines.causes.causal_graph.graph import Graph, Wait
from whyperf.engines.causes.causal_graph.refused_locks import refused_lock
from whyperf.engines.causes.path import Anomaly, Culprit, CulpritEnding, Rung, Stall
from whyperf.engines.kernel.rules import CallRule
from whyperf.engines.quantities import seconds
from whyperf.recording.names.system_calls import system_call_name

_MOST = 0.8  # of what was slept


def who(graph: Graph, thread: int) -> str:
    """Program, thread and number, as far as they say something."""
    if thread < 0:
        return "somebody outside the recording"
    one = graph.thread(thread)
    return f"{one.label} ({one.tid})"


def place(graph: Graph, node: int) -> str:
    """The innermost function of the program's own code, if there is any."""
    frame = graph.trace.stacks.own(node) if node >= 0 else None
    return f" in {frame.function}" if frame is not None else ""


def did(graph: Graph, rung: Rung) -> str:
    """What a rung's thread waited in."""
    wait = graph.wait(rung.wait)
    call = system_call_name(wait.call) if wait.call >= 0 else "the kernel"
    if graph.does(wait.call, CallRule.FUTEX):
        call = "a lock" if graph.rules.is_lock(graph.trace.stacks.functions(wait.node)) else "another thread's signal"
        return f"waited for {call}{place(graph, wait.node)}"
    if graph.does(wait.call, CallRule.SLEEP):
        return f"{'polled' if wait.sleeps >= graph.settings.polls else 'slept'}{place(graph, wait.node)}"
    if graph.does(wait.call, CallRule.MULTIPLEX) and graph.in_loop[rung.wait]:
        return f"had nothing to do, in {call}{place(graph, wait.node)}"
    return f"waited in {call}{place(graph, wait.node)}"


def ending(graph: Graph, culprit: Culprit) -> str:
    """What the last thread of a path did instead."""
    at, long = place(graph, culprit.node), seconds((culprit.end - culprit.begin) / 1e9)
    wait = graph.wait(culprit.wait) if culprit.wait >= 0 else None
    call = system_call_name(wait.call) if wait is not None and wait.call >= 0 else "the kernel"
    if culprit.ending is CulpritEnding.NO_REPLY:
        return f"finished its turn{at} without waking it{_difference(culprit)}"
    if culprit.ending is CulpritEnding.GONE:
        return f"had ended{at} without waking it{_difference(culprit)}"
    if culprit.ending is CulpritEnding.STARVED:
        rivals = ", ".join(f"{who(graph, one)} {seconds(time / 1e9)}" for one, time in culprit.others)
        return f"was ready to run{at} for {long} and got no CPU; running meanwhile: {rivals}"
    if culprit.ending is CulpritEnding.POLLED:
        return f"polled{at} for {long}, for {_polled_for(graph, wait)}"
    said = {
        CulpritEnding.RAN: f"was busy{at} for {long}",
        CulpritEnding.SLEPT: f"slept{at} for {long}",
        CulpritEnding.DEVICE: f"waited for the kernel or a device in {call}{at} for {long}",
        CulpritEnding.OUTSIDE: f"waited in {call}{at} for {long}, for somebody who is not in the recording",
        CulpritEnding.CYCLE: f"waits for the first one in turn, in {call}{at}: none of them can go on",
        CulpritEnding.UNKNOWN: f"was last seen{at}; the recording does not tell more",
    }
    return said[culprit.ending]


def _polled_for(graph: Graph, wait: Wait | None) -> str:
    if wait is not None and refused_lock(graph, wait) is not None:
        return "the lock of a file that nobody in the recording was seen to take"
    return "something that kernel events do not show"


def _difference(culprit: Culprit) -> str:
    parts = []
    if culprit.skipped:
        parts.append(f"unlike in the good run, it did not reach {_some(culprit.skipped)}")
    if culprit.added:
        parts.append(f"it went through {_some(culprit.added)}, which normal turns do not")
    return f" ({'; '.join(parts)})" if parts else ""


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")


def stalled(graph: Graph, anomaly: Anomaly) -> str:
    lasted = seconds((anomaly.end - anomaly.begin) / 1e9)
    if anomaly.task >= 0:
        put = int(graph.tasks.put[anomaly.task])
        queue = graph.trace.queues[graph.tasks.queue[anomaly.task]].name
        caller = int(graph.trace.stacks.parent[graph.trace.events.site[put]])
        by = f"{who(graph, int(graph.trace.events.thread[put]))}{place(graph, caller)}"
        return f"A task ({queue}) queued by {by} waited {lasted} until {who(graph, anomaly.thread)} ran it"
    sleeps = graph.wait(anomaly.wait).sleeps if anomaly.wait >= 0 else 0
    within = f"{sleeps:,} waits in a row" if sleeps > 1 else f"one {what(anomaly)}"
    return f"{who(graph, anomaly.thread)} stalled for {lasted} in {within}"


def what(anomaly: Anomaly) -> str:
    return "wait" if anomaly.wait >= 0 else "turn" if anomaly.is_turn else "task"


def usual(anomaly: Anomaly, *, compared: bool) -> str:
    """What the normal run, or the rest of the same one, says."""
    where = "in the good run" if compared else "elsewhere in the recording"
    kind = what(anomaly)
    if not anomaly.instances:
        return f"there is no such {kind} {where}"
    if not anomaly.normal:
        return f"there are too few such {kind}s {where} to tell what is usual"
    lasts = "last" if anomaly.task < 0 else "stay there"
    return f"such {kind}s {lasts} at most {seconds(anomaly.normal / 1e9)} {where} ({anomaly.instances:,} of them)"


def why(graph: Graph, stall: Stall, *, compared: bool) -> str:
    culprit, anomaly = stall.path.culprit, stall.anomaly
    first = f"{stalled(graph, anomaly)}; {usual(anomaly, compared=compared)}."
    itself = not stall.path.rungs[1:] and culprit.thread == anomaly.thread and anomaly.task < 0
    subject = "It" if itself else who(graph, culprit.thread)
    if culprit.ending is CulpritEnding.CYCLE:
        names = " -> ".join(who(graph, rung.thread) for rung in stall.path.rungs)
        return f"{first} Deadlock: {names} wait for each other in a circle."
    guess = " (a guess)" if stall.path.guessed else ""
    fed = [who(graph, one) for one in culprit.fed_by if one != anomaly.thread]
    asked = f" It had been asked by {', '.join(fed)}." if fed else ""
    did_instead = _slept_in_pieces(graph, stall) or ending(graph, culprit)
    return f"{first} {subject} {did_instead}{guess}.{asked}"


def _slept_in_pieces(graph: Graph, stall: Stall) -> str:
    """Of many short sleeps at one place the path knows the longest; nothing where that one was most of it."""
    culprit = stall.path.culprit
    if culprit.ending is not CulpritEnding.SLEPT or not graph.does(graph.wait(culprit.wait).call, CallRule.SLEEP):
        return ""
    kept_waiting = [rung for rung in stall.path.rungs if rung.thread != culprit.thread]
    window = kept_waiting[-1] if kept_waiting else stall.anomaly
    rows, waits, events = graph.waits_of(culprit.thread), graph.waits, graph.trace.events
    mine, first = slice(rows.start, rows.stop), waits.first[rows.start : rows.stop]
    there = int(waits.first[culprit.wait])
    lengths = np.minimum(graph.ends[mine], window.end) - np.maximum(waits.begin[mine], window.begin)
    same = (events.call[first] == events.call[there]) & (events.site[first] == events.site[there]) & (lengths > 0)
    total, times = int(lengths[same].sum()), int(waits.sleeps[mine][same].sum())
    if culprit.end - culprit.begin >= _MOST * total:
        return ""
    return f"slept{place(graph, culprit.node)} {times:,} times, {seconds(total / 1e9)} in all"
