"""Which system call a thread is in: perf tells its beginning and its end, our own tracer tells it with every event."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import Records
from whyperf.recording.schemas.events import EventKind

_FUTEX = 202
_FUTEX_PRIVATE = 128
_ASK = (EventKind.SWITCH, EventKind.WAKING, EventKind.SAMPLE)


def fill_system_calls(records: Records) -> None:
    """Gives each switch, waking and sample the system call that was under way, and each end of one its arguments.

    `records` are in time order, and are changed.
    """
    kind = records["kind"]
    begins = kind == EventKind.SYSCALL_ENTER
    if not begins.any():
        return
    last = _last_before(records["tid"], begins | (kind == EventKind.SYSCALL))
    inside = last >= 0
    inside[inside] = begins[last[inside]]
    ended = inside & (kind == EventKind.SYSCALL)
    ended[ended] = records["detail"][ended] == records["detail"][last[ended]]
    wanted = ended | (inside & np.isin(kind, _ASK))
    rows = np.flatnonzero(wanted)
    records["detail"][rows] = records["detail"][last[rows]]
    # What a sample stands for is where other events have their first argument.
    arguments = rows[kind[rows] != EventKind.SAMPLE]
    records["argument"][arguments] = records["argument"][last[arguments]]
    _name_futexes(records, np.flatnonzero((records["detail"] == _FUTEX) & (kind != EventKind.SAMPLE)))


def _last_before(tid: npt.NDArray[np.uint32], marked: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For every row the last marked one before it of the same thread, -1 where there is none."""
    order = np.argsort(tid, kind="stable")
    position = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(marked[order], position, -1))
    before = np.concatenate(([-1], latest[:-1]))
    same = (before >= 0) & (tid[order] == tid[order][np.maximum(before, 0)])
    result = np.full(len(order), -1, np.int64)
    result[order] = np.where(same, order[np.maximum(before, 0)], -1)
    return result


def _name_futexes(records: Records, rows: npt.NDArray[np.int64]) -> None:
    """A futex is known by its address, and by its process unless memory is shared."""
    operation = records["argument"][rows, 1]
    records["object"][rows] = records["argument"][rows, 0]
    private = (operation & np.uint64(_FUTEX_PRIVATE)) != 0
    records["peer"][rows] = np.where(private, records["pid"][rows], 0)
