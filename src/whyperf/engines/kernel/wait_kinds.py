"""What threads waited for, and who or what ended the wait."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from whyperf.engines.kernel.system_calls import READY, SENDING, WAITED_FOR, numbers
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import InterruptContext

Kinds = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Records = npt.NDArray[np.void]  # with the columns of `contexts.records.WAIT`


class WaitKind(IntEnum):
    NONE = 0  # it could have run: preempted
    SLEEP = 1
    FUTEX = 2
    DISK = 3
    PIPE = 4
    SOCKET = 5
    EVENTS = 6
    CHILD = 7
    SIGNAL = 8
    FILE_LOCK = 9
    QUEUE = 10
    DEVICE = 11
    PAGE_FAULT = 12
    OTHER = 13

    @property
    def words(self) -> str:
        """What a function does so long."""
        return _WORDS[self]


_WORDS = {
    WaitKind.NONE: "is ready to run for",
    WaitKind.SLEEP: "sleeps for",
    WaitKind.FUTEX: "waits for a lock or condition for",
    WaitKind.DISK: "waits for files or the disk for",
    WaitKind.PIPE: "waits for a pipe for",
    WaitKind.SOCKET: "waits for a socket for",
    WaitKind.EVENTS: "waits for events for",
    WaitKind.CHILD: "waits for a child process for",
    WaitKind.SIGNAL: "waits for a signal for",
    WaitKind.FILE_LOCK: "waits for a file lock for",
    WaitKind.QUEUE: "waits for a message queue or semaphore for",
    WaitKind.DEVICE: "waits for a device or terminal for",
    WaitKind.PAGE_FAULT: "waits for memory (page faults) for",
    WaitKind.OTHER: "waits in the kernel for",
}
# By the upper bits of `i_mode`, as in an event's object.
_BY_FILE_TYPE = {0x1: WaitKind.PIPE, 0x2: WaitKind.DEVICE, 0x4: WaitKind.DISK, 0x6: WaitKind.DISK, 0x8: WaitKind.DISK,
                 0xC: WaitKind.SOCKET}  # fmt: skip
_FILE_TYPE_SHIFT = 60  # i_mode begins at bit 48
# Locks are waited for by FUTEX_WAIT. The other bits say private, and by which clock.
_FUTEX_WAIT_BITSET, _FUTEX_OPERATION = 9, 0x7F
_TASK_UNINTERRUPTIBLE, _TASK_NOLOAD = 0x2, 0x400  # both: an idle thread of the kernel


def _table() -> Kinds:
    kinds = np.full(1024, -1, np.int8)
    for name, calls in WAITED_FOR.items():
        kinds[numbers(calls)] = WaitKind[name.upper()]
    return kinds


_CALLS = _table()
_SENDING_CALLS, _READY_CALLS = numbers(SENDING), numbers(READY)


def kinds_of(waits: Records) -> Kinds:
    """`WaitKind` of each wait: by the system call, and where that tells too little by what it was about."""
    call = waits["call"]
    known = (call >= 0) & (call < len(_CALLS))
    kinds = np.where(known, _CALLS[np.where(known, call, 0)], -1).astype(np.int8)
    # A wait on one descriptor is a wait for what is behind it.
    untold = (kinds < 0) | (kinds == WaitKind.EVENTS)
    file_type = (waits["object"] >> np.uint64(_FILE_TYPE_SHIFT)).astype(np.int64) & 0xF
    for bits, kind in _BY_FILE_TYPE.items():
        kinds[untold & known & (file_type == bits)] = kind
    kinds[kinds < 0] = WaitKind.OTHER
    state = waits["state"] & (_TASK_UNINTERRUPTIBLE | _TASK_NOLOAD)
    kinds[(call < 0) & (state == _TASK_UNINTERRUPTIBLE)] = WaitKind.PAGE_FAULT
    kinds[waits["state"] == 0] = WaitKind.NONE
    return kinds


def ready_for_anything(waits: Records) -> Flags:
    """Whatever comes next ends such a wait; a condition or semaphore is how other threads hand out work."""
    operation = waits["argument1"] & np.uint64(_FUTEX_OPERATION)
    condition = (waits["call"] == NUMBERS["futex"]) & (operation == _FUTEX_WAIT_BITSET)
    flags: Flags = np.isin(waits["call"], _READY_CALLS) | condition
    return flags


def woken_by_thread(waits: Records) -> Flags:
    """Whether the current thread at the waking really did it: interrupts come to whoever runs.

    Loopback traffic wakes its receiver in a network interrupt within the sender's own call.
    """
    context = waits["wake_context"]
    elsewhere = InterruptContext.HARD_IRQ | InterruptContext.HRTIMER | InterruptContext.TIMER
    elsewhere |= InterruptContext.BLOCK_SOFTIRQ | InterruptContext.OTHER_SOFTIRQ
    network = context & InterruptContext.NET_SOFTIRQ != 0
    sending = np.isin(waits["wake_call"], _SENDING_CALLS)
    flags: Flags = (waits["waker"] >= 0) & (context & int(elsewhere) == 0) & (~network | sending)
    return flags
