"""Who read what whom had written: bytes through pipes and sockets come out in the order they went in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Int32s, Ints, Words
from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.compiled import njit
from whyperf.engines.kernel.rules import CallRule
from whyperf.recording.schemas.events import EventKind

_INODE = np.uint64(0xFFFFFFFFFFFF)
_TYPE_SHIFT = np.uint64(60)
_PIPE, _SOCKET = np.uint64(1), np.uint64(0xC)
_PORT = np.uint64(0xFFFF)
_PORT_BITS = np.uint64(16)
_UNIX, _INTERNET = np.uint64(1 << 60), np.uint64(2 << 60)


@dataclass(frozen=True)
class Messages:
    """Pairs of events: what a receive got came, in part at least, from a send."""

    send: Int32s
    receive: Int32s


@dataclass(frozen=True)
class Channels:
    """All transfers through pipes and sockets, and the one-way channel that each went through."""

    rows: Int32s  # events that moved bytes
    channel: Words
    sends: Bools


def channel_of(object_: Words, peer: Words, sends: Bools) -> Words:
    """A number for a direction of a pipe or socket; 0: it is neither.

    A pipe is its inode. A unix socket's direction is the inode of the receiving end, an internet one's the sender's
    port and the receiver's.
    """
    kind = object_ >> _TYPE_SHIFT
    inode = object_ & _INODE
    swapped = ((peer & _PORT) << _PORT_BITS) | ((peer >> _PORT_BITS) & _PORT)
    by_inode = _UNIX | np.where(sends, peer & _INODE, inode)
    by_ports = _INTERNET | np.where(sends, peer & np.uint64(0xFFFFFFFF), swapped)
    socket = np.where(peer >> _TYPE_SHIFT == _SOCKET, by_inode, by_ports)
    found: Words = np.where(kind == _PIPE, inode, np.where((kind == _SOCKET) & (peer != 0), socket, np.uint64(0)))
    return found


def channels(trace: EventTrace) -> Channels:
    events = trace.events
    bits = trace.rules.call_bits[np.clip(events.call, -1, len(trace.rules.call_bits) - 1)]
    by_call = (events.kind == EventKind.SYSCALL) & (bits & (CallRule.RECEIVE | CallRule.SEND) != 0)
    # What goes through io_uring is in no system call of its own.
    by_socket = (events.kind == EventKind.SOCKET_SEND) | (events.kind == EventKind.SOCKET_RECEIVE)
    moved = (by_call | by_socket) & (events.result > 0) & (events.thread >= 0)
    rows = np.flatnonzero(moved).astype(np.int32)
    sends = np.where(by_call[rows], bits[rows] & CallRule.SEND != 0, events.kind[rows] == EventKind.SOCKET_SEND)
    channel = channel_of(events.object[rows], events.peer[rows], sends)
    known = channel != 0
    return Channels(rows[known], channel[known], sends[known])


def match_messages(trace: EventTrace, moved: Channels, late_ns: int) -> Messages:
    events = trace.events
    order = np.lexsort((moved.rows, moved.channel))
    rows, channel, sends = moved.rows[order], moved.channel[order], moved.sends[order]
    send, receive = np.empty(2 * len(rows) + 1, np.int32), np.empty(2 * len(rows) + 1, np.int32)
    pairs = _match(events.time[rows], channel, sends, events.result[rows], late_ns, send, receive)
    return Messages(rows[send[:pairs]], rows[receive[:pairs]])


@njit(cache=True, nogil=True)
def _match(  # noqa: PLR0917 -- columns
    time: Ints, channel: Words, sends: Bools, left: Ints, late: int, send: Int32s, receive: Int32s
) -> int:
    """First in, first out. A send's end may be seen after the receive of its bytes: such a receive waits for it.

    `left` is how many bytes each moved, and is used up; `send` and `receive` are filled with pairs.
    """
    pairs = 0
    oldest_send, oldest_receive = 0, 0
    for at in range(len(time)):
        if at == 0 or channel[at] != channel[at - 1]:
            oldest_send = oldest_receive = at
        if sends[at]:
            while oldest_receive < at and left[at] > 0:
                early = oldest_receive
                if sends[early] or left[early] <= 0 or time[at] - time[early] >= late:
                    oldest_receive += 1
                    continue
                moved = min(left[at], left[early])
                left[at] -= moved
                left[early] -= moved
                send[pairs], receive[pairs] = at, early
                pairs += 1
        else:
            while oldest_send < at and left[at] > 0:
                if not sends[oldest_send] or left[oldest_send] <= 0:
                    oldest_send += 1
                    continue
                moved = min(left[at], left[oldest_send])
                left[at] -= moved
                left[oldest_send] -= moved
                send[pairs], receive[pairs] = oldest_send, at
                pairs += 1
    return pairs
