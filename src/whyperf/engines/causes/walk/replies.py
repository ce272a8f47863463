"""Turns: who asked for one, whether it was passed on, and what a turn left out that such turns do as a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from whyperf.engines.arrays import Bools, Int32s
from whyperf.engines.causes.causal_graph.edges import FORK, MESSAGE, NEIGHBOUR, queue_of
from whyperf.engines.causes.causal_graph.graph import Graph, Wait
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.path import Culprit, CulpritEnding
from whyperf.engines.causes.roles import ThreadRoles
from whyperf.recording.schemas.events import EventKind


@dataclass(frozen=True)
class TurnSegments:
    """The segments of one turn of a thread."""

    thread: int
    segments: range


class Replies:
    def __init__(self, stalled: ThreadRoles, normals: Sequence[ThreadRoles]) -> None:
        self.roles, self.graph, self.normals = stalled, stalled.graph, normals

    def fed_by(self, thread: int, time: int) -> tuple[int, ...]:
        """Who had asked for what the thread did at a time: whoever queued the task; else senders and wakers, back to
        the beginning of its turn."""
        graph = self.graph
        segment = graph.segments.at(thread, time)
        for _ in range(50):
            if segment < 0:
                return ()
            edges = graph.edges
            into = edges.into(segment)
            queued = [edge for edge in into if queue_of(int(edges.mechanism[edge])) >= 0]
            feeders = [
                int(graph.segments.thread[edges.source[edge]])
                for edge in queued or into
                if edges.mechanism[edge] not in (NEIGHBOUR, FORK)
            ]
            feeders = [one for one in dict.fromkeys(feeders) if one != thread]
            if feeders:
                return tuple(feeders[:3])
            before = [int(edges.source[edge]) for edge in into if edges.mechanism[edge] == NEIGHBOUR]
            segment = before[0] if before else -1
        return ()

    def last_turn(self, thread: int, missing: Wait) -> TurnSegments | None:
        """The party's turn that the waiting thread began; else the last one that it had meanwhile."""
        slack = self.graph.settings.turn_slack_ns
        asked, meanwhile = None, None
        for turn in self._turns(self.graph, thread, missing.begin - slack, missing.end):
            if missing.thread in self._feeders(turn):
                asked = turn
            if self.graph.segments.end[turn.segments[-1]] >= missing.begin:
                meanwhile = turn
        return asked or meanwhile

    def _feeders(self, turn: TurnSegments) -> set[int]:
        graph = self.graph
        found = set()
        for segment in turn.segments[:1]:
            wait = int(graph.segments.before[segment])
            if wait >= 0 and graph.waits.wake[wait] >= 0:
                found.add(int(graph.trace.events.thread[graph.waits.wake[wait]]))
        for segment in turn.segments:
            for edge in graph.edges.into(segment):
                if graph.edges.mechanism[edge] == MESSAGE:
                    found.add(int(graph.segments.thread[graph.edges.source[edge]]))
        return found

    @staticmethod
    def _turns(graph: Graph, thread: int, begin: int, end: int) -> Iterator[TurnSegments]:
        """Those that overlap a window, one after the other: a thread may have had millions."""
        segments, rows = graph.segments, graph.segments.of(thread)
        if not rows:
            return
        before = segments.before[rows.start : rows.stop]
        starts = segments.turn[rows.start : rows.stop] | np.append(graph.in_loop, False)[before]
        starts[0] = True
        firsts = rows.start + np.flatnonzero(starts)
        lasts = np.append(firsts[1:], rows.stop) - 1
        inside = np.flatnonzero((segments.begin[firsts] <= end) & (segments.end[lasts] >= begin))
        for turn in inside:
            yield TurnSegments(thread, range(int(firsts[turn]), int(lasts[turn]) + 1))

    def forwarded_to(self, turn: TurnSegments, missing: Wait) -> int | None:
        """Who received the last request that the turn passed on: a message to somebody who ever answered the thread.

        What is merely written to somebody, such as a line to whoever reads a log, asks for nothing.
        """
        graph, edges = self.graph, self.graph.edges
        rows = np.flatnonzero((edges.mechanism == MESSAGE) & _are_in(edges.source, turn.segments))
        receivers = [int(graph.segments.thread[edges.target[row]]) for row in rows]
        onward = [one for one in receivers if one not in (missing.thread, turn.thread)]
        return next((one for one in reversed(onward) if self._answers(one, turn.thread)), None)

    def passed_on_to(self, thread: int, waiting: Wait) -> set[int]:
        """To whom a thread sent anything in turns that the waiting one began."""
        graph, edges = self.graph, self.graph.edges
        slack = graph.settings.turn_slack_ns
        turns = self._turns(graph, thread, waiting.begin - slack, waiting.end)
        asked = np.zeros(len(graph.segments), np.bool_)
        for turn in turns:
            if waiting.thread in self._feeders(turn):
                asked[turn.segments.start : turn.segments.stop] = True
        rows = np.flatnonzero((edges.mechanism == MESSAGE) & asked[edges.source])
        return set(np.unique(graph.segments.thread[edges.target[rows]]).tolist())

    def _answers(self, thread: int, asker: int) -> bool:
        """Whether a thread ever sent anything back, here or, in the same roles, in a normal run."""
        if (thread, asker) in _talks(self.graph):
            return True
        pair = self.roles.parts[thread].broad, self.roles.parts[asker].broad
        return any(
            (roles.parts[a].broad, roles.parts[b].broad) == pair
            for roles in self.normals
            for a, b in _talks(roles.graph)
        )

    def culprit(self, turn: TurnSegments, begin: int, end: int) -> Culprit:
        """Idle after its turn: what the turn lacks against normal ones."""
        graph = self.graph
        did = set[str]().union(*(graph.symbols.of(one) for one in turn.segments))
        skipped, added = self._against_normal(turn.thread, did)
        last = turn.segments[-1]
        node = self._last_node(turn.segments, added)
        first, over = int(graph.segments.begin[turn.segments[0]]), int(graph.segments.end[last])
        return Culprit(
            CulpritEnding.NO_REPLY,
            turn.thread,
            max(first, min(begin, over)),
            min(over, end),
            node,
            fed_by=self.fed_by(turn.thread, first),
            skipped=skipped,
            added=added,
        )

    def gone(self, thread: int, exited: int) -> Culprit:
        graph = self.graph
        rows = graph.segments.of(thread)
        did = set[str]().union(*(graph.symbols.of(one) for one in rows)) if rows else set[str]()
        skipped, added = self._against_normal(thread, did)
        node = self._last_node(rows, added)
        return Culprit(CulpritEnding.GONE, thread, exited, exited, node, skipped=skipped, added=added)

    def _last_node(self, segments: range, added: Sequence[str]) -> int:
        """Where it was seen last in what normal turns do not have; else where it was seen last."""
        graph, new = self.graph, set(added)
        if not segments:
            return -1
        start, events = graph.segments.event_start, graph.trace.events
        rows = graph.segments.events[start[segments[0]] : start[segments[-1] + 1]]
        nodes = events.site[rows[events.kind[rows] != EventKind.EXIT]]
        nodes = nodes[nodes >= 0]
        first, _ = groups(nodes)
        unusual = [node for node in nodes[first].tolist() if new & set(graph.trace.stacks.functions(node))]
        return unusual[-1] if unusual else int(nodes[-1]) if len(nodes) else -1

    def _against_normal(self, thread: int, did: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Functions in most turns of the normal role that this one lacks, and the ones that only it has."""
        role = self.roles.of_thread[thread]
        counted: dict[str, int] = {}
        total = 0
        for roles in self.normals:
            threads = roles.threads_like(role)
            for one in threads[:20]:
                turns = self._turns(roles.graph, one, roles.graph.trace.start, roles.graph.trace.end)
                for turn in islice(turns, 200):
                    total += 1
                    for name in set[str]().union(*(roles.graph.symbols.of(each) for each in turn.segments)):
                        counted[name] = counted.get(name, 0) + 1
        if not total:
            return (), ()
        skipped = sorted((name for name, count in counted.items() if count > total / 2 and name not in did))
        return tuple(skipped), tuple(sorted(did - counted.keys()))


def _talks(graph: Graph) -> set[tuple[int, int]]:
    """Who sent anything to whom."""
    edges, thread = graph.edges, graph.segments.thread
    rows = edges.mechanism == MESSAGE
    sender, receiver = thread[edges.source[rows]], thread[edges.target[rows]]
    first, _ = groups(sender, receiver)
    return set(zip(sender[first].tolist(), receiver[first].tolist(), strict=True))


def _are_in(segments: Int32s, turn: range) -> Bools:
    inside: Bools = (segments >= turn.start) & (segments < turn.stop)
    return inside
