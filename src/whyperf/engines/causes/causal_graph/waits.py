"""Waits of threads: what the scheduler saw, and what the program meant.

A thread leaves the CPU asleep, is woken, runs again. Many such sleeps can be one wait to the program (rule 1 of
docs/how-causes-work.md): re-sleeps inside one system call, since a wake-up there may be for something else; and polls,
waits at the same site ended by a timer with nothing done in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from whyperf.engines.arrays import Bools, Bytes, Int8s, Int32s, Ints, Words
from whyperf.engines.causes.causal_graph.trace import TraceEvents
from whyperf.engines.compiled import njit
from whyperf.engines.grouping import grouped
from whyperf.engines.kernel.rules import CallRule
from whyperf.engines.kernel.wakers import is_productive, who_ended
from whyperf.recording.schemas.events import EventKind

# Columns that the end of a wait needs: each thread's last wait and early wake-up; of events time, thread, call, context
# and what the call is, with the threads' processes; of waits what is filled in.
_Latest = tuple[Int32s, Int32s]
_Seen = tuple[Ints, Int32s, Int32s, Bytes, Ints, Int32s]
_Ends = tuple[Int32s, Int32s, Int8s]

NEVER = np.int64(-1)


class Ended(IntEnum):
    """Who ended a sleep."""

    NOBODY = 0  # it lasted to the end of the recording, or its end was not seen
    TIMER = 1
    KERNEL = 2  # an interrupt or a kernel thread: no thread of a program is known to be behind it
    THREAD = 3


@dataclass(frozen=True)
class ThreadWaits:
    """Logical waits, by thread in the order of their beginning within it; a row each."""

    thread: Int32s
    first: Int32s  # the SWITCH event it began with
    last: Int32s  # the SWITCH event of its last sleep
    begin: Ints
    woken: Ints  # NEVER: it was not
    resumed: Ints  # back on a CPU; NEVER
    wake: Int32s  # the WAKING event that ended it, or -1
    resume: Int32s  # the event at which it was seen running again, or -1
    ended: Int8s  # `Ended`
    result: Ints  # of the system call
    returned: Bools  # whether the result was seen
    sleeps: Int32s  # of which it is made

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True)
class Sleeps:
    """For every event: the wait that a SWITCH belongs to, and the waits that are over at it; -1: none.

    Two can be: a switch goes from one thread, of whose coming back nothing was seen, to another.
    """

    wait: Int32s
    resumed: Int32s  # of the event's own thread
    resumed_other: Int32s


_SWITCH, _WAKING, _SYSCALL = int(EventKind.SWITCH), int(EventKind.WAKING), int(EventKind.SYSCALL)
_TASK_PUT, _TASK_RUN = int(EventKind.TASK_PUT), int(EventKind.TASK_RUN)
_ASLEEP, _DEAD = 1 | 2 | 4 | 8, 16 | 32 | 128  # task states
_FILE_TYPE_SHIFT = np.uint64(60)
_ON_ITS_WAY_NS = 100_000  # from a thread's last look at what it waits for to its leaving the CPU
_NEGLIGIBLE = 50  # a gap of a fiftieth of the wait: a busy machine takes its time between two polls
_EXITING = int(CallRule.EXIT)


def find_waits(
    events: TraceEvents, call_bits: Ints, pids: Int32s, of_kernel: Bools, poll_gap_ns: int
) -> tuple[ThreadWaits, Sleeps]:
    """`pids`, `of_kernel`: of all threads."""
    bits = call_bits[np.clip(events.call, -1, len(call_bits) - 1)]
    found = _room_for(int(np.count_nonzero(events.kind == _SWITCH)))
    of_switch = np.full(len(events), -1, np.int32)
    count = _sleeps(
        events.time,
        events.thread,
        events.kind,
        events.context,
        events.call,
        events.other,
        events.object,
        events.result,
        events.site,
        bits,
        pids,
        of_kernel,
        poll_gap_ns,
        found,
        of_switch,
    )
    filled: tuple[Any, ...] = tuple(column[:count] for column in found)
    thread, first, last, wake, resume, ended, result, returned, sleeps = filled
    _, order = grouped(thread, len(pids))  # they begin in time order: so each thread's do
    place = places_after(order)
    first, last, wake, resume = first[order], last[order], wake[order], resume[order]
    resumed, resumed_other = np.full(len(events), -1, np.int32), np.full(len(events), -1, np.int32)
    own = (resume >= 0) & (events.thread[resume] == thread[order])
    resumed[resume[own]] = np.flatnonzero(own)
    other = (resume >= 0) & ~own
    resumed_other[resume[other]] = np.flatnonzero(other)
    waits = ThreadWaits(
        thread[order],
        first,
        last,
        events.time[first],
        np.where(
            wake >= 0,
            np.maximum(events.time[wake], events.time[first]),
            np.where(resume >= 0, events.time[resume], NEVER),
        ),
        np.where(resume >= 0, events.time[resume], NEVER),
        wake,
        resume,
        ended[order],
        result[order],
        returned[order],
        sleeps[order],
    )
    return waits, Sleeps(place[of_switch], resumed, resumed_other)


class _Found(NamedTuple):
    """Waits in the order of their beginning, as columns of `ThreadWaits`."""

    thread: Int32s
    first: Int32s
    last: Int32s
    wake: Int32s
    resume: Int32s
    ended: Int8s
    result: Ints
    returned: Bools
    sleeps: Int32s


def _room_for(most: int) -> _Found:
    return _Found(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.full(most, -1, np.int32),
        np.full(most, -1, np.int32),
        np.zeros(most, np.int8),
        np.zeros(most, np.int64),
        np.zeros(most, np.bool_),
        np.zeros(most, np.int32),
    )


def places_after(order: Int32s) -> Int32s:
    """Where each row went; one more at the end, so that -1 stays -1."""
    place = np.full(len(order) + 1, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


@njit(cache=True, nogil=True)
def _resume(sleeper: int, at: int, latest: _Latest, events: _Seen, ends: _Ends) -> None:
    """It runs again. If nobody was seen waking it meanwhile, whoever did when it was about to sleep ended the wait."""
    wait, early = latest[0][sleeper], latest[1][sleeper]
    time, thread, call, context, bits, pids = events
    w_wake, w_resume, w_ended = ends
    w_resume[wait] = at
    if w_wake[wait] < 0 and early >= 0 and time[at] >= time[early]:
        w_wake[wait] = early
        w_ended[wait] = who_ended(context[early], call[early], bits[early], thread[early], sleeper, pids)


@njit(cache=True, nogil=True)
def _sleeps(  # noqa: PLR0912, PLR0915, PLR0917 -- one pass over all events, with the state of all threads at hand
    time: Ints,
    thread: Int32s,
    kind: Bytes,
    context: Bytes,
    call: Int32s,
    other: Int32s,
    object_: Words,
    result: Ints,
    site: Int32s,
    bits: Ints,
    pids: Int32s,
    of_kernel: Bools,
    poll_gap: int,
    found: _Found,
    of_switch: Int32s,
) -> int:
    """Fills the columns, and tells how many waits there are."""
    w_thread, w_first, w_last, w_wake, w_resume, w_ended, w_result, w_returned, w_sleeps = found
    threads, waits = len(pids), 0
    current = np.full(threads, -1, np.int32)  # the last wait of each thread
    asleep = np.zeros(threads, np.bool_)
    same_call = np.zeros(threads, np.bool_)  # no system call has ended since the last sleep
    acted = np.ones(threads, np.bool_)  # something was done since the last sleep
    early = np.full(threads, -1, np.int32)  # a wake-up while it was on its way to sleep, on another CPU
    latest, events = (current, early), (time, thread, call, context, bits, pids)
    ends = w_wake, w_resume, w_ended
    for at in range(len(time)):
        what, who = kind[at], thread[at]
        if who >= 0:
            if asleep[who]:  # it runs, whatever was lost
                asleep[who] = False
                _resume(who, at, latest, events, ends)
            if what != _SWITCH or (early[who] >= 0 and time[at] - time[early[who]] > _ON_ITS_WAY_NS):
                early[who] = -1
            if what == _SYSCALL:
                wait = current[who]
                if wait >= 0 and not w_returned[wait] and call[w_first[wait]] == call[at]:
                    w_result[wait], w_returned[wait] = result[at], True
                same_call[who] = False
                if is_productive(bits[at], result[at], int(object_[at] >> _FILE_TYPE_SHIFT)):
                    acted[who] = True
            elif what in (_TASK_PUT, _TASK_RUN) or (
                what == _WAKING
                and not (other[at] >= 0 and of_kernel[other[at]])  # an interrupt wakes them in whatever thread it comes
                and who_ended(context[at], call[at], bits[at], who, other[at], pids) == 3
            ):
                acted[who] = True
            elif what == _SWITCH and result[at] & _ASLEEP and not result[at] & _DEAD and not bits[at] & _EXITING:
                wait, joins = current[who], False
                if wait >= 0:
                    begun = w_first[wait]
                    if call[begun] == call[at] and site[begun] == site[at] and object_[begun] == object_[at]:
                        joins = same_call[who] or (
                            not acted[who]
                            and w_ended[wait] != 3
                            and time[at] - time[w_resume[wait]]
                            < max(poll_gap, (time[w_resume[wait]] - time[begun]) // _NEGLIGIBLE)
                        )
                if not joins:
                    wait = waits
                    waits += 1
                    current[who] = wait
                    w_thread[wait], w_first[wait] = who, at
                w_last[wait], w_wake[wait], w_resume[wait], w_ended[wait] = at, -1, -1, 0
                w_returned[wait] = False
                w_sleeps[wait] += 1
                of_switch[at] = wait
                asleep[who], same_call[who], acted[who] = True, call[at] >= 0, False
        if other[at] >= 0:
            whom = other[at]
            if what == _WAKING:
                if not asleep[whom]:
                    early[whom] = at
                elif w_wake[current[whom]] < 0:
                    wait = current[whom]
                    w_wake[wait] = at
                    w_ended[wait] = who_ended(context[at], call[at], bits[at], who, whom, pids)
            elif what == _SWITCH and asleep[whom]:
                asleep[whom] = False
                _resume(whom, at, latest, events, ends)
    return waits
