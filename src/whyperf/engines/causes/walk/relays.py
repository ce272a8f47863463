"""Whose message a thread passed on: daemons that relay, servers that answer when a back end has answered them.

Such a thread is idle most of the time that somebody waits for it, and is roused meanwhile by others who have nothing to
do with that. What counts is the turn in which it let the waiting one go, and who began that turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.engines.causes.causal_graph.edges import MESSAGE, queue_of
from whyperf.engines.causes.causal_graph.graph import Graph, Wait
from whyperf.engines.causes.causal_graph.waits import Ended
from whyperf.engines.causes.path import Certainty
from whyperf.engines.causes.walk.replies import Replies
from whyperf.engines.kernel.rules import LinkStrength


@dataclass(frozen=True)
class Sender:
    """Who brought a turn about, and the segment in which it did."""

    thread: int
    segment: int
    mechanism: str = "message"
    certainty: Certainty = Certainty.STRONG
    why: str = "it brought about the turn in which the waiting thread was let go"


@dataclass(frozen=True)
class Relayed:
    """The turn in which a thread let another go."""

    wait: int  # in its loop, the last one before the turn; -1: none
    sender: Sender | None  # None: nobody is known to have begun it
    by_clock: bool = False  # the thread's own clock began it


class Relays:
    def __init__(self, graph: Graph, replies: Replies) -> None:
        self.graph, self.replies = graph, replies

    def turn(self, segment: int, waiting: Wait, begin: int) -> Relayed:
        """The turn that a segment ends; who began it after `begin`.

        Of several whose messages came in one turn: those to whom the waiting thread's request had been passed on
        before others, later ones before earlier ones, since programs tend to answer as soon as they can.
        """
        graph = self.graph
        own = int(graph.segments.thread[segment])
        pieces = self._back_to_loop(segment)
        wait = self._last_rest(own, int(graph.segments.begin[pieces[-1]]))
        senders = [
            one
            for piece in pieces
            for one in self._senders(piece)
            if one.thread not in (waiting.thread, own) and graph.segments.end[one.segment] >= begin
        ]
        if senders:
            asked = self.replies.passed_on_to(own, waiting)
            return Relayed(wait, next((one for one in senders if one.thread in asked), senders[0]))
        if wait < 0 or graph.segments.before[pieces[-1]] != wait:
            return Relayed(wait, None)
        return Relayed(wait, self._waker(wait, waiting), by_clock=graph.waits.ended[wait] == Ended.TIMER)

    def _back_to_loop(self, segment: int) -> list[int]:
        """The turn's segments up to this one, the last first."""
        segments, in_loop = self.graph.segments, self.graph.in_loop
        first = segments.of(int(segments.thread[segment])).start
        pieces = [segment]
        while pieces[-1] > first and not segments.turn[pieces[-1]]:
            before = int(segments.before[pieces[-1]])
            if before >= 0 and in_loop[before]:
                break
            pieces.append(pieces[-1] - 1)
        return pieces

    def _last_rest(self, thread: int, time: int) -> int:
        """Its last wait for work before a time."""
        graph, rows = self.graph, self.graph.waits_of(thread)
        before = int(np.searchsorted(graph.waits.begin[rows.start : rows.stop], time))
        rests = np.flatnonzero(graph.in_loop[rows.start : rows.start + before])
        return rows.start + int(rests[-1]) if len(rests) else -1

    def _senders(self, segment: int) -> Iterator[Sender]:
        """Whoever queued the task that the segment is; else those whose messages came in it, the last first."""
        edges, segments = self.graph.edges, self.graph.segments
        rows = sorted(edges.into(segment), key=lambda row: -int(segments.end[edges.source[row]]))
        for row in [one for one in rows if queue_of(int(edges.mechanism[one])) >= 0]:
            queue, source = self.graph.trace.queues[queue_of(int(edges.mechanism[row]))], int(edges.source[row])
            why = "it queued the task in which the waiting thread was let go"
            yield Sender(int(segments.thread[source]), source, queue.name, Certainty(queue.strength), why)
        for row in [one for one in rows if edges.mechanism[one] == MESSAGE]:
            source = int(edges.source[row])
            yield Sender(int(segments.thread[source]), source)

    def _waker(self, wait: int, waiting: Wait) -> Sender | None:
        """Whoever roused it from its loop on purpose, by an eventfd or a signal."""
        graph = self.graph
        rule, wake = int(graph.wakes.rule[wait]), int(graph.waits.wake[wait])
        if rule < 0 or graph.rules.wakes[rule].strength is not LinkStrength.STRONG:
            return None
        thread = int(graph.trace.events.thread[wake])
        if thread == waiting.thread:
            return None
        segment = graph.segments.at(thread, int(graph.trace.events.time[wake]))
        return Sender(thread, segment, graph.rules.wakes[rule].name)
