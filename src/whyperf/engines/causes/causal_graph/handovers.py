"""Work that goes on without the thread that asked for it: requests of io_uring, work items of the kernel, timers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whyperf.engines.arrays import Int32s, Ints, Words
from whyperf.engines.causes.causal_graph.trace import TraceEvents
from whyperf.engines.compiled import njit
from whyperf.recording.schemas.events import EventKind

HANDED_OVER = (
    (EventKind.URING_SUBMIT, EventKind.URING_COMPLETE),
    (EventKind.WORK_QUEUE, EventKind.WORK_START),
)


def handed_over(events: TraceEvents) -> Iterator[tuple[Ints, Ints]]:
    """For each kind of work the events with which items were asked for and taken up, row by row."""
    for begins, ends in HANDED_OVER:
        yield begun_before(events, np.flatnonzero(events.kind == begins), np.flatnonzero(events.kind == ends))


def armed_by_others(events: TraceEvents, wakes: Int32s) -> tuple[Ints, Ints]:
    """Where the timers were set behind wake-ups, and which of these those are; a thread's own sleeps are left out."""
    rows = np.argsort(wakes, kind="stable")
    armed, fired = begun_before(events, np.flatnonzero(events.kind == EventKind.TIMER_START), wakes[rows])
    others = events.thread[armed] != events.other[fired]
    return armed[others], rows[np.searchsorted(wakes[rows], fired[others])]


def begun_before(events: TraceEvents, begins: Ints, ends: Ints | Int32s) -> tuple[Ints, Ints]:
    """The last beginning of the same object before each end that has one."""
    before = np.full(len(ends), -1, np.int64)
    _find_last(events.object, begins, ends.astype(np.int64), before)
    known = before >= 0
    return before[known], ends[known].astype(np.int64)


@njit(cache=True, nogil=True)
def _find_last(object_: Words, begins: Ints, ends: Ints, found: Ints) -> None:
    last = {np.uint64(0): np.int64(-1)}
    at = 0
    for end in range(len(ends)):
        while at < len(begins) and begins[at] < ends[end]:
            last[object_[begins[at]]] = begins[at]
            at += 1
        found[end] = last.get(object_[ends[end]], np.int64(-1))
