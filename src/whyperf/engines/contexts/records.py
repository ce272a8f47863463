"""What the walk through a run's events writes and remembers, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Records = npt.NDArray[Any]  # of one of the types below

# A stretch that a thread was off the CPU.
WAIT = np.dtype(
    [
        ("start", np.int64),
        (
            "woken",
            np.int64,
        ),  # when it could have run again; of a preempted thread its start, of one never woken its end
        ("end", np.int64),  # when it ran again
        ("state", np.int64),  # that it left in
        ("object", np.uint64),
        ("peer", np.uint64),
        ("argument1", np.uint64),
        ("thread", np.int32),
        ("node", np.int32),  # -1: stack unknown
        ("stack", np.int32),
        ("call", np.int32),  # number of the system call; -1: in none
        ("waker", np.int32),  # -1: none, or not a thread
        ("wake_call", np.int32),
        ("wake_context", np.uint8),
        ("ended", np.bool_),
    ],
    align=True,
)

# An inferred function instance.
INSTANCE = np.dtype(
    [
        ("before", np.int64),  # the thread's last event without the context
        ("first", np.int64),
        ("last", np.int64),
        ("after", np.int64),  # the thread's first event without it; its last event where the trace ends
        ("thread", np.int32),
        ("node", np.int32),
    ],
    align=True,
)

# A clock sample: what ran, and how many nanoseconds it stands for.
SAMPLE = np.dtype(
    [
        ("time", np.int64),
        ("weight", np.int64),
        ("thread", np.int32),
        ("node", np.int32),
        ("stack", np.int32),
    ],
    align=True,
)

# What is known of a thread at the moment.
THREAD = np.dtype(
    [
        ("last", np.int64),  # when it was seen in `node`
        ("off_since_last", np.int64),  # nanoseconds off the CPU since then
        ("unplaced", np.int64),  # its last wait, if that has no whole stack: where it was written; -1: it has
        ("node", np.int32),  # -1: never seen
        ("register", np.int32),  # its row of the registers; -1: none
        ("cut", np.bool_),  # the stack with which it last left the CPU was not whole
        ("off", np.bool_),  # off the CPU, as its row of the waits under way tells
        ("gone", np.bool_),
        ("passed_over", np.bool_),  # its stacks are of no interest
    ],
    align=True,
)

# An open context of a thread, by depth.
REGISTER = np.dtype([("before", np.int64), ("first", np.int64)], align=True)
