"""Tasks that programs put into queues of their own: who put one, and when its turn came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whyperf.engines.arrays import Bools, Int32s, Ints
from whyperf.engines.causes.causal_graph.grouping import groups
from whyperf.engines.causes.causal_graph.trace import TraceEvents
from whyperf.engines.compiled import njit
from whyperf.recording.schemas.events import EventKind


@dataclass(frozen=True)
class Tasks:
    """Those that were seen being put and then begun, a row each in the order of their beginnings."""

    put: Ints  # events
    run: Ints
    queue: Int32s  # by its place in the recording's manifest
    begins: Bools  # by event: whether a task begins with it, be it one that is run again without being put again

    def __len__(self) -> int:
        return len(self.run)


def find_tasks(events: TraceEvents, pids: Int32s) -> Tasks:
    """A task is begun by the last put of its like before. What lies at the same address later is another one, and a
    task that is run again without being put (a periodic one) was not brought about by anybody."""
    what = (events.kind == EventKind.TASK_PUT) | (events.kind == EventKind.TASK_RUN)
    rows = np.flatnonzero(what & (events.thread >= 0))
    begins = np.zeros(len(events), np.bool_)
    if not len(rows):
        return Tasks(rows, rows, np.zeros(0, np.int32), begins)
    _, function = groups(events.peer[rows].view(np.int64))
    _, task = groups(events.object[rows].view(np.int64))
    _, identity = groups(pids[events.thread[rows]], events.call[rows], function, task)
    put, known = np.full(len(rows), -1, np.int64), np.zeros(len(rows), np.bool_)
    last = np.full(len(rows), _NEVER_PUT, np.int64)
    _find_last_puts(events.kind[rows] == EventKind.TASK_PUT, identity, last, put, known)
    begins[rows[known]] = True
    found = put >= 0
    return Tasks(rows[put[found]], rows[found], events.call[rows[found]], begins)


_NEVER_PUT = -2


@njit(cache=True, nogil=True)
def _find_last_puts(puts: Bools, identity: Int32s, last: Ints, found: Ints, known: Bools) -> None:
    """By row the put that brought it about, -1: none did; and whether its like had ever been put. `last` is by identity
    what was put last, and has been begun since if it is -1."""
    for row in range(len(puts)):
        which = identity[row]
        if puts[row]:
            last[which] = row
        elif last[which] != _NEVER_PUT:
            found[row], known[row] = last[which], True
            last[which] = -1
