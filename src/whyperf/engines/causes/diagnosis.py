"""From recordings to stalls explained: anomalies found, each walked to its culprit, those that merely waited along
told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whyperf.engines.causes import path_sentences
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.refused_locks import refused_lock
from whyperf.engines.causes.path import Anomaly, CulpritEnding, Stall
from whyperf.engines.causes.roles import ThreadRoles, play
from whyperf.engines.causes.settings import CausesSettings
from whyperf.engines.causes.stalls.anomalies import find_anomalies
from whyperf.engines.causes.stalls.disturbance import is_disturbance, is_firm, is_usual
from whyperf.engines.causes.walk.stall_walk import StallWalk
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import texts
from whyperf.errors import WhyperfError
from whyperf.recording.file_backed import large_arrays_in_files

_WATCHABLE = 4  # a CPU's breakpoints
_KINDS = ("signed", "unsigned", "boolean", "bool", "enumeration", "enum")
_SHARED_ON_PURPOSE = ("volatile", "atomic", "_Atomic")


@dataclass(frozen=True)
class Causes:
    """What was found in one stalled recording."""

    roles: ThreadRoles
    normals: tuple[ThreadRoles, ...]
    stalls: tuple[Stall, ...]  # most time first
    notes: tuple[str, ...] = ()

    @property
    def graph(self) -> Graph:
        return self.roles.graph


@dataclass(frozen=True)
class StallFilter:
    """What the user says of the stall: a moment (nanoseconds of CLOCK_MONOTONIC), a thread's name or number."""

    at: int | None = None
    thread: str | None = None


@large_arrays_in_files()
def find_causes(
    stalled: Recorded,
    normals: Sequence[Recorded],
    where: StallFilter | None = None,
) -> Causes:
    chosen = CausesSettings()
    roles, *usual = play(Graph(stalled, chosen), [Graph(one, chosen) for one in normals])
    anomalies = find_anomalies(roles, usual)
    if where is not None:
        anomalies = _at(roles.graph, anomalies, where)
    stalls = explain(roles, usual, anomalies[: chosen.most_candidates])
    disturbed = [] if where is not None else [stall for stall in stalls if is_disturbance(roles.graph, stall)]
    kept = [stall for stall in stalls if stall not in disturbed]
    if where is None:
        kept = [one for one in kept if is_firm(roles.graph, one) and not is_usual(roles, usual, one)]
    return Causes(roles, tuple(usual), tuple(kept[: chosen.most_findings]), tuple(_notes(roles, kept, disturbed)))


def explain(roles: ThreadRoles, normals: Sequence[ThreadRoles], anomalies: Sequence[Anomaly]) -> tuple[Stall, ...]:
    """Anomalies that lie on another's path waited along with it and are not reported by themselves."""
    walk = StallWalk(roles, normals)
    stalls = [Stall(one, walk.explain(one)) for one in anomalies]
    outer = [one for one in stalls if not any(_leads_to(other, one) for other in stalls)]
    outer = [one for one in outer if not _is_part_of_another(one, stalls)] or outer or stalls
    merged: list[Stall] = []
    for stall in sorted(outer, key=_weight, reverse=True):
        same = next((at for at, one in enumerate(merged) if _same_end(one, stall)), None)
        if same is None:
            merged.append(stall)
        else:
            merged[same] = replace(merged[same], along=(*merged[same].along, stall.anomaly))
    return tuple(merged)


def _leads_to(other: Stall, stall: Stall) -> bool:
    """Whether a stall's wait is on another's path, and not the other way round too, as in a circle."""
    wait = stall.anomaly.wait
    if other is stall or wait < 0 or wait == other.anomaly.wait or wait not in _waits_on(other):
        return False
    return other.anomaly.wait < 0 or other.anomaly.wait not in _waits_on(stall)


def _waits_on(stall: Stall) -> set[int]:
    return {*(rung.wait for rung in stall.path.rungs), stall.path.culprit.wait}


def _is_part_of_another(stall: Stall, stalls: Sequence[Stall]) -> bool:
    """A long turn of a thread that others were found to wait for; or a task that came late because of it."""
    mine = stall.anomaly
    if mine.wait >= 0:
        return False
    for other in stalls:
        if other is stall or (not mine.is_turn and other.anomaly.wait < 0):
            continue
        culprit = other.path.culprit
        if culprit.thread == mine.thread and culprit.begin < mine.end and culprit.end > mine.begin:
            return True
        if any(one.thread == mine.thread and one.begin < mine.end and one.end > mine.begin for one in other.path.rungs):
            return True
    return False


def _weight(stall: Stall) -> tuple[bool, int]:
    """Paths that come to somebody before those that end in the dark; then by time."""
    dark = (
        stall.path.culprit.ending in (CulpritEnding.OUTSIDE, CulpritEnding.UNKNOWN, CulpritEnding.POLLED)
        or stall.path.guessed
    )
    return not dark, stall.anomaly.excess


def _same_end(one: Stall, other: Stall) -> bool:
    a, b = one.path.culprit, other.path.culprit
    if a.ending is CulpritEnding.CYCLE and b.ending is CulpritEnding.CYCLE:
        return {rung.thread for rung in one.path.rungs} & {rung.thread for rung in other.path.rungs} != set()
    return a.thread == b.thread and a.ending is b.ending and a.node == b.node


def _at(graph: Graph, anomalies: Sequence[Anomaly], where: StallFilter) -> list[Anomaly]:
    """What was asked for; a wait or turn of the thread at that moment even if it is not out of the ordinary."""
    found = [one for one in anomalies if _fits(graph, one, where)]
    if found or where.at is None:
        if not found:
            raise WhyperfError(
                f"No thread {where.thread} stalled in {graph.trace.path}.",
                f"whyperf diagnose {graph.trace.path}",
            )
        return found
    under_way = (graph.waits.begin <= where.at) & (graph.ends >= where.at) & ~graph.in_loop
    waits = [
        Anomaly(wait.thread, wait.begin, wait.end, wait.end - wait.begin, 0, 0, wait.number)
        for wait in (graph.wait(number) for number in np.flatnonzero(under_way).tolist())
        if where.thread is None or is_called(graph, wait.thread, where.thread)
    ]
    if not waits:
        raise WhyperfError(
            "No thread waited at that moment for anything but work.", f"whyperf diagnose {graph.trace.path}"
        )
    return sorted(waits, key=lambda one: -one.excess)


def _fits(graph: Graph, anomaly: Anomaly, where: StallFilter) -> bool:
    if where.at is not None and not anomaly.begin <= where.at <= anomaly.end:
        return False
    return where.thread is None or is_called(graph, anomaly.thread, where.thread)


def is_called(graph: Graph, thread: int, name: str) -> bool:
    one = graph.thread(thread)
    return name in (str(one.tid), one.name, one.label, one.program)


def _notes(roles: ThreadRoles, stalls: Sequence[Stall], disturbed: Sequence[Stall]) -> list[str]:
    graph, trace = roles.graph, roles.graph.trace.manifest.trace
    notes = [
        f"A busy machine: {path_sentences.stalled(graph, stall.anomaly)}; "
        f"{path_sentences.who(graph, stall.path.culprit.thread)} "
        f"{path_sentences.ending(graph, stall.path.culprit)}."
        for stall in disturbed[:1]
    ]
    notes += [_how_to_see(graph, wait) for stall in stalls[:1] if (wait := polled_at(stall)) >= 0]
    if trace is not None and trace.events_lost:
        notes.append(
            f"{trace.events_lost:,} kernel events were lost: wake-ups that are missing may have been among them."
        )
    notes += [
        f"During the stall the tracer left out {shed.what}, to keep its cost low: links may be missing."
        for shed in (trace.shed if trace is not None else ())
        if any(stall.anomaly.begin < shed.end and stall.anomaly.end > shed.start for stall in stalls)
    ]
    return list(dict.fromkeys(notes))


def _how_to_see(graph: Graph, wait: int) -> str:
    """What tells who ends a poll."""
    who = path_sentences.who(graph, graph.wait(wait).thread)
    if refused_lock(graph, graph.wait(wait)) is not None:
        return f"{who} tried to lock a file again and again. Who holds the lock is seen with: lslocks"
    flags = suggested_flags(graph, wait)
    some = " ".join(f"--watch {one}" for one in flags) or "--watch VARIABLE"
    return (
        f"{who} polled something that kernel events do not show. Who writes a variable is seen with: whyperf record "
        f"--trace {some} ..."
    )


def polled_at(stall: Stall) -> int:
    """The wait in which a thread polled for nobody knows what; -1: there was none."""
    path = stall.path
    if path.culprit.ending is CulpritEnding.POLLED:
        return path.culprit.wait
    return path.rungs[0].wait if path.guessed and path.rungs else -1


def suggested_flags(graph: Graph, wait: int) -> tuple[str, ...]:
    """Global numbers of the polling program that decide about something there: those in the polling function's own
    source file first, those made to be shared before others."""
    frame = graph.trace.stacks.own(graph.wait(wait).node)
    if frame is None:
        return ()
    modules = texts(graph.trace.recording.table("modules"), "name")
    rows = [
        row
        for row in graph.trace.recording.table("variables").to_pylist()
        if row["scope"] == "global"
        and row["kind"] in _KINDS
        and "condition" in row["roles"].split("|")
        and modules[row["module"]] == frame.module
    ]

    def order(row: Mapping[str, Any]) -> tuple[bool, bool]:
        return row["file"] != frame.file, not any(word in row["type"] for word in _SHARED_ON_PURPOSE)

    return tuple(dict.fromkeys(str(row["name"]) for row in sorted(rows, key=order)))[:_WATCHABLE]
