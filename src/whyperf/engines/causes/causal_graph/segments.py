"""Execution segments: the graph's vertices, pieces of a thread's run that are on behalf of one task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from whyperf.engines.arrays import Bools, Bytes, Int32s, Ints, Words
from whyperf.engines.causes.causal_graph.trace import TraceEvents
from whyperf.engines.causes.causal_graph.waits import Sleeps, ThreadWaits, places_after
from whyperf.engines.compiled import njit
from whyperf.engines.grouping import grouped
from whyperf.engines.kernel.rules import CallRule
from whyperf.recording.schemas.events import EventKind


@dataclass(frozen=True)
class Segments:
    """A row each, by thread in time order."""

    thread: Int32s
    begin: Ints
    end: Ints
    before: Int32s  # the wait that it follows, -1: none
    after: Int32s  # the wait that ends it, -1: none
    turn: Bools  # it begins with a multiplexer's return that did not have to wait, or with a task
    of_thread: Ints  # thread t has rows of_thread[t] .. of_thread[t + 1]
    event_start: Ints
    events: Int32s  # those of segment s are events[event_start[s]:event_start[s + 1]]

    def __len__(self) -> int:
        return len(self.thread)

    def events_of(self, segment: int) -> Int32s:
        return self.events[self.event_start[segment] : self.event_start[segment + 1]]

    def of(self, thread: int) -> range:
        if not 0 <= thread < len(self.of_thread) - 1:
            return range(0)
        return range(int(self.of_thread[thread]), int(self.of_thread[thread + 1]))

    def at(self, thread: int, time: int) -> int:
        """The segment in which a thread was, or the last one before; -1: the thread has none."""
        rows = self.of(thread)
        if not rows:
            return -1
        inside = int(np.searchsorted(self.begin[rows.start : rows.stop], time, side="right")) - 1
        return rows.start + max(inside, 0)


_SWITCH, _SYSCALL = int(EventKind.SWITCH), int(EventKind.SYSCALL)
_MULTIPLEX, _RECEIVE = int(CallRule.MULTIPLEX), int(CallRule.RECEIVE)
_SOCKET = 0xC
_FILE_TYPE_SHIFT = np.uint64(60)


def cut_segments(  # noqa: PLR0917 -- columns
    events: TraceEvents, waits: ThreadWaits, sleeps: Sleeps, call_bits: Ints, begins: Bools, threads: int
) -> Segments:
    """`begins` tells with which events tasks of a program's own queues begin."""
    bits = call_bits[np.clip(events.call, -1, len(call_bits) - 1)]
    most = threads + len(waits) + _cuts(events.kind, events.result, bits, begins)
    found = _room_for(most)
    of_event = np.full(len(events), -1, np.int32)
    count = _cut(
        events.time,
        events.thread,
        events.kind,
        events.object,
        events.result,
        bits,
        begins,
        sleeps.wait,
        sleeps.resumed,
        sleeps.resumed_other,
        waits.thread,
        threads,
        found,
        of_event,
    )
    filled: tuple[Any, ...] = tuple(column[:count] for column in found)
    thread, begin, end, before, after, turn = filled
    of_thread, order = grouped(thread, threads)
    start, rows = grouped(places_after(order)[of_event], len(order))
    return Segments(
        thread[order], begin[order], end[order], before[order], after[order], turn[order], of_thread, start, rows
    )


class _Found(NamedTuple):
    """Segments in the order of their beginning, as columns of `Segments`."""

    thread: Int32s
    begin: Ints
    end: Ints
    before: Int32s
    after: Int32s
    turn: Bools


def _room_for(most: int) -> _Found:
    return _Found(
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.full(most, -1, np.int32),
        np.full(most, -1, np.int32),
        np.zeros(most, np.bool_),
    )


@njit(cache=True, nogil=True)
def _cuts(kind: Bytes, result: Ints, bits: Ints, begins: Bools) -> int:
    """How many events at most begin a segment, apart from ends of waits."""
    most = 0
    for at in range(len(kind)):
        most += kind[at] == _SYSCALL and bits[at] & (_MULTIPLEX | _RECEIVE) != 0 and result[at] > 0
        most += begins[at]
    return most


@njit(cache=True, nogil=True)
def _cut(  # noqa: PLR0917 -- columns, one pass
    time: Ints,
    thread: Int32s,
    kind: Bytes,
    object_: Words,
    result: Ints,
    bits: Ints,
    begins: Bools,
    sleep_wait: Int32s,
    resumed_wait: Int32s,
    resumed_other: Int32s,
    wait_thread: Int32s,
    threads: int,
    found: _Found,
    of_event: Int32s,
) -> int:
    """Cut where a thread waits, where a multiplexer returns, and at a receive from another peer: daemons handle several
    clients in one turn, and what one asked for is not the other's cause. Nor is one task another's. Fills the columns,
    and tells how many segments there are."""
    s_thread, s_begin, s_end, s_before, s_after, s_turn = found
    segments = 0
    current = np.full(threads, -1, np.int32)
    waiting = np.full(threads, -1, np.int32)
    filled = np.zeros(threads, np.int32)
    peer = np.zeros(threads, np.uint64)
    for at in range(len(time)):
        for back, who in (
            (resumed_wait[at], thread[at]),
            (resumed_other[at], wait_thread[resumed_other[at]] if resumed_other[at] >= 0 else np.int32(-1)),
        ):
            if who >= 0 and (back >= 0 or (current[who] < 0 and waiting[who] < 0)):
                current[who] = segments
                s_thread[segments], s_begin[segments], s_end[segments] = who, time[at], time[at]
                s_before[segments] = back
                waiting[who], filled[who], peer[who] = -1, 0, 0
                segments += 1
        who = thread[at]
        if who < 0 or current[who] < 0:
            continue
        if kind[at] == _SWITCH:
            wait = sleep_wait[at]
            if waiting[who] < 0:
                s_end[current[who]] = time[at]
                if wait >= 0:
                    s_after[current[who]] = wait
                    waiting[who] = wait
            continue
        if waiting[who] >= 0:
            continue
        if begins[at] or (kind[at] == _SYSCALL and result[at] > 0):
            ready = bits[at] & _MULTIPLEX != 0 and filled[who] > 0
            received = bits[at] & _RECEIVE != 0 and object_[at] >> _FILE_TYPE_SHIFT == _SOCKET
            if begins[at]:
                ready, received = True, False
            if ready or (received and peer[who] != 0 and peer[who] != object_[at]):
                s_end[current[who]] = time[at]
                current[who] = segments
                s_thread[segments], s_begin[segments], s_end[segments] = who, time[at], time[at]
                s_turn[segments] = ready
                filled[who], peer[who] = 0, 0
                segments += 1
            if received:
                peer[who] = object_[at]
        of_event[at] = current[who]
        filled[who] += 1
        s_end[current[who]] = time[at]
    return segments
