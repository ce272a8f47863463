"""Requests that kernel events show: a thread reads from a socket, and then it answers on one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.relevance import members
from whyperf.engines.kernel.system_calls import REQUEST_READS, REQUEST_WRITES, WHAT_THEY_DO, numbers
from whyperf.engines.run import Run, column
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.latency import Latency, LatencyCount

_READS, _WRITES = numbers(REQUEST_READS), numbers(REQUEST_WRITES)
_ACCEPTS = numbers(WHAT_THEY_DO["accept"])
_SOCKET, _FILE_TYPE_SHIFT = 0xC, 60


@dataclass(frozen=True)
class Request:
    thread: int
    begin: int
    end: int


def requests_of(run: Run) -> Iterator[Request]:
    table, window = run.recording.table("events"), run.manifest.window
    time, thread, call = (column(table, name) for name in ("time", "thread", "detail"))
    own = np.append(members(run).program, False)
    socket = column(table, "object") >> np.uint64(_FILE_TYPE_SHIFT) & np.uint64(0xF) == _SOCKET
    done = (column(table, "kind") == EventKind.SYSCALL) & socket & (column(table, "result") > 0) & own[thread]
    done &= (time >= window.start) & (time <= window.end)
    reads, writes = done & np.isin(call, _READS), done & np.isin(call, _WRITES)
    began: dict[int, int] = {}
    for at in np.flatnonzero(reads | writes).tolist():
        who = int(thread[at])
        if reads[at]:
            began[who] = int(time[at])
        elif who in began:
            yield Request(who, began.pop(who), int(time[at]))


def latency_seen(run: Run) -> Latency | None:
    """None of programs that accept no connections: what these write after they have read is no answer."""
    table = run.recording.table("events")
    own = np.append(members(run).program, False)[column(table, "thread")]
    calls = column(table, "detail")[own & (column(table, "kind") == EventKind.SYSCALL)]
    if not np.isin(calls, _ACCEPTS).any():
        return None
    count = LatencyCount("kernel events")
    count.add((one.end - one.begin) / 1e9 for one in requests_of(run))
    return count.latency
