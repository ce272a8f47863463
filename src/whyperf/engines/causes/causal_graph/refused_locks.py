"""Locks of files that a thread tries to get again and again (sqlite's busy handler)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from whyperf.engines.causes.causal_graph.graph import Graph, Wait
from whyperf.recording.schemas.events import EventKind

_REGULAR_FILE = 8
_BUSY = (-11, -16, -17, -35)  # EAGAIN, EBUSY, EEXIST, EDEADLK: what a failing try-lock returns


def refused_lock(graph: Graph, wait: Wait) -> int | None:
    """The file whose lock the waiting thread was refused most often during the wait; None where it asked for none."""
    events = graph.trace.events
    rows = np.flatnonzero(
        (events.kind == EventKind.SYSCALL)
        & (events.thread == wait.thread)
        & (events.time >= wait.begin)
        & (events.time <= wait.end)
        & np.isin(events.result, _BUSY)
        & (events.object >> np.uint64(60) == np.uint64(_REGULAR_FILE))
    )
    return Counter(events.object[rows].tolist()).most_common(1)[0][0] if len(rows) else None
