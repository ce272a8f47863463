"""Who gave back a lock that a thread waited for.

The kernel wakes the thread that waits in the very call that gives the lock back: at that moment whoever held it is on
the CPU, and its stack says in which function it still is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from whyperf.engines.kernel.system_calls import numbers
from whyperf.engines.recording_protocol import Recorded, columns_of, has_events
from whyperf.recording.schemas.events import EventKind

_FUTEX = numbers(("futex",))
_COLUMNS = ("kind", "time", "thread", "other", "context", "detail", "stack")


def lock_releases(recording: Recorded, locked: npt.NDArray[np.bool_]) -> Mapping[tuple[int, int], float]:
    """Seconds of waits for a lock that a thread ended by giving the lock back, by the stacks of who waited and of who
    gave it back (their innermost nodes). `locked`: by stack, whether it takes a lock."""
    found: defaultdict[tuple[int, int], float] = defaultdict(float)
    if not has_events(recording):
        return found
    held = columns_of(recording, "events", _COLUMNS)
    kind, stack, window = held["kind"], held["stack"], recording.manifest.window
    inside = (held["time"] >= window.start) & (held["time"] <= window.end) & (stack >= 0)
    leaves = np.flatnonzero(inside & (kind == EventKind.SWITCH))
    leaves = leaves[locked[stack[leaves]]]
    wakes = np.flatnonzero(kind == EventKind.WAKING)
    ended = _next(wakes, held["other"][wakes], leaves, held["thread"][leaves])
    leaves, ended = leaves[ended >= 0], ended[ended >= 0]
    told = inside[ended] & (held["context"][ended] == 0) & np.isin(held["detail"][ended], _FUTEX)
    leaves, ended = leaves[told], ended[told]
    lasted = (held["time"][ended] - held["time"][leaves]) / 1e9
    for waiter, releaser, seconds in zip(stack[leaves].tolist(), stack[ended].tolist(), lasted.tolist(), strict=True):
        found[waiter, releaser] += seconds
    return found


def _next(
    rows: npt.NDArray[np.int64],
    threads: npt.NDArray[np.int32],
    after: npt.NDArray[np.int64],
    of_threads: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]:
    """For each of `after` the first of `rows` behind it that is about its thread; -1: none. Both are in order."""
    if not len(rows):
        return np.full(len(after), -1, np.int64)
    by_thread = np.argsort(threads, kind="stable")
    span = int(max(rows[-1], after[-1] if len(after) else 0)) + 1
    keys = threads[by_thread].astype(np.int64) * span + rows[by_thread]
    at = np.searchsorted(keys, of_threads.astype(np.int64) * span + after, "right")
    found = np.minimum(at, len(rows) - 1)
    is_same = (at < len(rows)) & (threads[by_thread][found] == of_threads)
    return np.where(is_same, rows[by_thread][found], -1)
