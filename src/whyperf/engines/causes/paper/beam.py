"""Algorithm 1: causal paths backwards from a vertex, strong edges preferred (section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Int8s, Int32s, Ints
from whyperf.engines.causes.causal_graph.edges import Edges
from whyperf.engines.causes.causal_graph.graph import Graph
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.settings import CausesPaperSettings
from whyperf.engines.compiled import njit
from whyperf.engines.kernel.rules import LinkStrength
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind


@dataclass(frozen=True)
class CausalPath:
    penalty: int
    vertices: tuple[int, ...]  # segments, from the path's end (its origin) to where the search began


def origins(graph: Graph) -> Bools:
    """Where a request begins: an accepted connection, a timer or a device that ended a wait between turns.

    The paper's are vertices with user input; on Linux that comes from a device or through the X server's connection.
    """
    segments, events, waits = graph.segments, graph.trace.events, graph.waits
    found = np.zeros(len(segments), np.bool_)
    between = np.flatnonzero(segments.before >= 0)
    wait = segments.before[between]
    found[between] = graph.in_loop[wait] & np.isin(waits.ended[wait], [Ended.TIMER, Ended.KERNEL])
    accepted = (events.kind == EventKind.SYSCALL) & (events.result >= 0)
    accepted &= np.isin(events.call, [NUMBERS["accept"], NUMBERS["accept4"]])
    of_row = np.repeat(np.arange(len(segments)), np.diff(segments.event_start))
    found[of_row[accepted[segments.events]]] = True
    return found


def search(
    edges: Edges,
    start: int,
    ends: Bools,
    settings: CausesPaperSettings | None = None,
    *,
    weak_edges: bool = True,
) -> list[CausalPath]:
    """Least penalty first. Without weak edges it is the paper's ablation (Table 4.4)."""
    chosen = settings or CausesPaperSettings()
    usable = np.ones(len(edges.source), np.bool_) if weak_edges else edges.strength != LinkStrength.WEAK
    node, parent, penalty, found = _beam(
        edges.start,
        edges.source,
        edges.strength,
        usable,
        ends,
        start,
        np.array([chosen.beam, chosen.lookback, chosen.a, chosen.b, chosen.longest_path]),
    )
    paths = []
    for state in found.tolist():
        vertices, at = [], state
        while at >= 0:
            vertices.append(int(node[at]))
            at = int(parent[at])
        paths.append(CausalPath(int(penalty[state]), tuple(vertices)))
    return sorted(paths, key=lambda path: path.penalty)


@njit(cache=True, nogil=True)
def _beam(  # noqa: PLR0912, PLR0915, PLR0917 -- the algorithm as printed, in one piece
    into: Ints, source: Int32s, strength: Int8s, usable: Bools, ends: Bools, start: int, figures: Ints
) -> tuple[Int32s, Ints, Ints, Ints]:
    """States are kept in one arena with their parents. Of states at the same vertex and depth the best one is kept:
    penalties add up, so the others cannot be a part of a better path."""
    width, lookback, a, b, longest = figures
    node = np.empty(1024, np.int32)
    parent = np.empty(1024, np.int64)
    penalty = np.empty(1024, np.int64)
    node[0], parent[0], penalty[0] = start, -1, 0
    top, steps, depth = 1, 0, 0
    current = np.zeros(1, np.int64)
    found = np.empty(64, np.int64)
    paths = 0
    best = {np.int32(-1): np.int64(-1)}
    while len(current) > 0 and width > 0 and depth < longest:
        steps += 1
        depth += 1
        first = top
        best.clear()
        for state in current:
            if width <= 0:
                break
            vertex = node[state]
            incoming = 0
            for edge in range(into[vertex], into[vertex + 1]):
                incoming += usable[edge]
            if incoming == 0 or (ends[vertex] and vertex != start):
                found[paths] = state
                paths += 1
                width -= 1
                continue
            for edge in range(into[vertex], into[vertex + 1]):
                if not usable[edge]:
                    continue
                reached = source[edge]
                seen, at = False, state
                while at >= 0:
                    if node[at] == reached:
                        seen = True
                        break
                    at = parent[at]
                if seen:
                    continue
                cost = penalty[state] + a * strength[edge] + b
                if reached in best:
                    same = best[reached]
                    if cost < penalty[same]:
                        penalty[same], parent[same] = cost, state
                    continue
                if top == len(node):
                    node = np.concatenate((node, np.empty_like(node)))
                    parent = np.concatenate((parent, np.empty_like(parent)))
                    penalty = np.concatenate((penalty, np.empty_like(penalty)))
                node[top], parent[top], penalty[top] = reached, state, cost
                best[reached] = np.int64(top)
                top += 1
        current = np.arange(first, top)
        if steps == lookback:
            order = np.argsort(penalty[first:top], kind="mergesort")
            current = current[order[: max(width, 0)]]
            steps = 0
    if len(current) > 0 and width > 0:
        order = np.argsort(penalty[current], kind="mergesort")
        for state in current[order[:width]]:
            found[paths] = state
            paths += 1
    return node[:top], parent[:top], penalty[:top], found[:paths]
