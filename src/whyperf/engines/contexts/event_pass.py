"""What is done once per event, compiled: one pass in time order with a little state for every thread.

Algorithm 2 of the paper. A thread's stack is a node of the calling-context tree, so that of two consecutive stacks
exactly the contexts from the root down to their common ancestor continue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whyperf.engines.compiled import njit
from whyperf.engines.contexts.records import Flags, Floats, Int32s, Ints, Records
from whyperf.recording.schemas.events import EventKind

# Why `follow` comes back before the end of its events.
DONE, INSTANCES_FULL, REGISTERS_FULL = 0, 1, 2

_SWITCH, _WAKING, _WAKEUP_NEW = int(EventKind.SWITCH), int(EventKind.WAKING), int(EventKind.WAKEUP_NEW)
_SYSCALL, _SAMPLE, _EXIT = int(EventKind.SYSCALL), int(EventKind.SAMPLE), int(EventKind.EXIT)
_SYSTEM_CALLS, _SWITCHES, _SAMPLES = 1, 2, 4


# Compiled code is kept under the names of these two: a kept one cannot be read once they are renamed.
class Events(NamedTuple):
    """Columns of the table `events`, and the stacks' nodes in the tree."""

    time: Ints
    thread: Int32s
    kind: npt.NDArray[np.uint8]
    context: npt.NDArray[np.uint8]
    detail: Int32s
    other: Int32s
    object: npt.NDArray[np.uint64]
    peer: npt.NDArray[np.uint64]
    argument1: npt.NDArray[np.uint64]
    result: Ints
    stack: Int32s
    node: Int32s
    whole: Flags  # the stack reaches the thread's entry


class InferenceState(NamedTuple):
    """All that changes from event to event."""

    parent: Int32s  # of the tree; node 0 is the root
    depth: Int32s
    threads: Records
    under_way: Records  # waits, one a thread
    registers: Records  # 2-dimensional: threads with open contexts, depth
    free: Int32s  # rows of the registers not in use: the first `free_count[0]` of them
    free_count: Ints
    instances: Records  # written here, where there is room for any
    waits: Records
    written: Ints  # how many of each
    totals: Floats  # 2-dimensional: by node how many instances, conservative and aggressive latencies
    running: Floats  # by node: time on the CPU between two stacks that share it


@njit(cache=True, nogil=True)
def common(parent: Int32s, depth: Int32s, one: int, two: int) -> int:
    """The innermost node that is on both nodes' paths."""
    while one != two:
        if depth[one] >= depth[two]:
            one = parent[one]
        else:
            two = parent[two]
    return one


@njit(cache=True, nogil=True)
def _close(state: InferenceState, thread: int, upto: int, now: int) -> None:
    """Ends the thread's contexts below `upto`."""
    node, row, last = state.threads[thread].node, state.threads[thread].register, state.threads[thread].last
    keep = len(state.instances) > 0
    while node != upto:
        register = state.registers[row, state.depth[node]]
        state.totals[node, 0] += 1
        state.totals[node, 1] += last - register.first
        state.totals[node, 2] += now - register.first
        if keep:
            instance = state.instances[state.written[0]]
            instance.thread, instance.node = thread, node
            instance.before, instance.first = register.before, register.first
            instance.last, instance.after = last, now
            state.written[0] += 1
        node = state.parent[node]


@njit(cache=True, nogil=True)
def _seen(state: InferenceState, thread: int, now: int, node: int) -> None:
    """The thread was seen in `node`."""
    known = state.threads[thread]
    if known.passed_over:
        return
    if known.node < 0:
        state.free_count[0] -= 1
        known.register = state.free[state.free_count[0]]
        shared, before = 0, now
    else:
        shared, before = common(state.parent, state.depth, known.node, node), known.last
        _close(state, thread, shared, now)
        ran = max(0, now - before - known.off_since_last)
        state.running[shared] += ran
    opened = node
    while opened != shared:
        register = state.registers[known.register, state.depth[opened]]
        register.before, register.first = before, now
        opened = state.parent[opened]
    known.node, known.last, known.off_since_last = node, now, 0


@njit(cache=True, nogil=True)
def _forget(state: InferenceState, thread: int) -> None:
    known = state.threads[thread]
    state.free[state.free_count[0]] = known.register
    state.free_count[0] += 1
    known.register, known.node = -1, -1


@njit(cache=True, nogil=True)
def _leave(state: InferenceState, events: Events, row: int) -> None:
    thread = events.thread[row]
    wait = state.under_way[thread]
    wait.thread, wait.start = thread, events.time[row]
    wait.stack, wait.node = events.stack[row], events.node[row]
    wait.state, wait.call = events.result[row], events.detail[row]
    wait.object, wait.peer, wait.argument1 = events.object[row], events.peer[row], events.argument1[row]
    wait.woken = events.time[row] if events.result[row] == 0 else -1
    wait.waker, wait.wake_call, wait.wake_context = -1, -1, 0
    state.threads[thread].off, state.threads[thread].cut = True, not events.whole[row]


@njit(cache=True, nogil=True)
def _return(state: InferenceState, thread: int, now: int, ended: bool) -> None:
    """Writes down the wait of a thread that runs again, or that is still off when the trace ends."""
    wait, known = state.under_way[thread], state.threads[thread]
    wait.end, wait.ended = now, ended
    if wait.woken < 0:
        wait.woken = now
    state.waits[state.written[1]] = wait
    known.unplaced = state.written[1] if wait.node < 0 or known.cut else -1
    state.written[1] += 1
    known.off_since_last += now - wait.start
    known.off = False


@njit(cache=True, nogil=True)
def _switch(state: InferenceState, events: Events, row: int, stacks: bool) -> None:
    leaver, comer, now, node = events.thread[row], events.other[row], events.time[row], events.node[row]
    if leaver >= 0 and not state.threads[leaver].gone:
        if stacks and node > 0 and events.whole[row]:
            _seen(state, leaver, now, node)
        _leave(state, events, row)
    if comer >= 0 and state.threads[comer].off:
        _return(state, comer, now, True)
        # Off the CPU its stack cannot have changed.
        wait = state.under_way[comer]
        if stacks and wait.node > 0 and state.threads[comer].node == wait.node:
            _seen(state, comer, now, wait.node)


@njit(cache=True, nogil=True)
def _wake(state: InferenceState, events: Events, row: int) -> None:
    woken = events.other[row]
    if woken >= 0 and state.threads[woken].off and state.under_way[woken].woken < 0:
        wait = state.under_way[woken]
        wait.woken, wait.waker = events.time[row], events.thread[row]
        wait.wake_context, wait.wake_call = events.context[row], events.detail[row]


@njit(cache=True, nogil=True)
def _exit(state: InferenceState, thread: int, now: int) -> None:
    if state.threads[thread].node >= 0:
        _close(state, thread, 0, now)
        _forget(state, thread)
    state.threads[thread].gone = True


@njit(cache=True, nogil=True)
def _place(state: InferenceState, events: Events, row: int) -> None:
    """A wait without a stack of its own was where the system call ended in which it was: a program that waits as soon
    as it is started may do so before anybody could tell its stack."""
    known = state.threads[events.thread[row]]
    if known.unplaced >= 0:
        wait = state.waits[known.unplaced]
        if wait.call == events.detail[row] and (events.whole[row] or wait.node < 0):
            wait.stack, wait.node = events.stack[row], events.node[row]
        known.unplaced = -1


@njit(cache=True, nogil=True)
def follow(state: InferenceState, events: Events, begin: int, sources: int) -> tuple[int, int]:
    """Records from `begin` on, until an output is full: the next row, and why."""
    deepest = state.registers.shape[1]
    for row in range(begin, len(events.time)):
        if 0 < len(state.instances) < state.written[0] + 2 * deepest:
            return row, INSTANCES_FULL
        if state.free_count[0] < 2:
            return row, REGISTERS_FULL
        kind, thread = events.kind[row], events.thread[row]
        if kind == _SWITCH:
            _switch(state, events, row, sources & _SWITCHES != 0)
        elif kind in (_WAKING, _WAKEUP_NEW):
            _wake(state, events, row)
        elif thread >= 0 and not state.threads[thread].gone:
            if kind == _SYSCALL and events.node[row] > 0:
                _place(state, events, row)
            chosen = (kind == _SYSCALL and sources & _SYSTEM_CALLS) or (kind == _SAMPLE and sources & _SAMPLES)
            if kind == _EXIT:
                _exit(state, thread, events.time[row])
            elif chosen and events.node[row] > 0 and events.whole[row]:
                _seen(state, thread, events.time[row], events.node[row])
    return len(events.time), DONE


@njit(cache=True, nogil=True)
def finish(state: InferenceState, begin: int, end: int) -> int:
    """Ends what is open when the trace ends, at `end`; until an output is full: the next thread."""
    deepest = state.registers.shape[1]
    for thread in range(begin, len(state.threads)):
        if 0 < len(state.instances) < state.written[0] + deepest or state.written[1] == len(state.waits):
            return thread
        if state.threads[thread].off and not state.threads[thread].gone:
            _return(state, thread, max(end, state.under_way[thread].start), False)
        if state.threads[thread].node >= 0:
            _close(state, thread, 0, state.threads[thread].last)
            _forget(state, thread)
    return len(state.threads)
