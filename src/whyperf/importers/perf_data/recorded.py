"""Sealing what our own `perf record` wrote: the raw log tells how the run went, perf's file what happened meanwhile."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from whyperf.collect.perf_record.process import PerfRecorded
from whyperf.collect.tracer.traced import Records
from whyperf.importers.perf_data.bookkeeping import Forked
from whyperf.importers.perf_data.importing import sealed_perf_data, trace_of, traced_of
from whyperf.importers.perf_data.reading import read_perf_data
from whyperf.recording.layout import RAW
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import write_recording
from whyperf.seal.evidence import read_evidence

_RECORDED = frozenset(
    {EventKind.SWITCH, EventKind.WAKING, EventKind.WAKEUP_NEW, EventKind.SYSCALL, EventKind.SYSCALL_ENTER,
     EventKind.SAMPLE, EventKind.FORK, EventKind.EXEC, EventKind.EXIT, EventKind.RENAME, EventKind.SIGNAL,
     EventKind.BLOCK_ISSUE, EventKind.BLOCK_COMPLETE}
)  # fmt: skip
_WHY_ABSENT = "perf records no such events for us; BPF would"


def seal_recorded_by_perf(path: Path, perf: PerfRecorded) -> Recording:
    """Seal the recording `path` that this process made; whyperf's own events are dropped."""
    read = read_perf_data(perf.file)
    absent = ", ".join(kind.name.lower().replace("_", " ") for kind in EventKind if kind not in _RECORDED)
    trace = replace(trace_of(read, "perf", perf.scope.name), absent={absent: _WHY_ABSENT})
    traced = traced_of(read, trace, without=frozenset({os.getpid(), perf.pid}))
    started = [one.pid for one in read.books.happenings if isinstance(one, Forked) and one.parent_pid == os.getpid()]
    traced = replace(traced, records=_from_exec_on(traced.records, started))
    followed = {"tree": started, "process": [perf.scope.pid or 0], "all": []}[perf.scope.name]
    evidence = replace(read_evidence(path / RAW), traced=replace(traced, followed=tuple(followed)))
    early = ("perf ended before the program did: its file was full.",) if perf.ended_early else ()
    write_recording(path, *sealed_perf_data(read, evidence, notes=early))
    return Recording(path)


def _from_exec_on(records: Records, started: list[int]) -> Records:
    """Between fork and exec the target was a copy of ourselves."""
    kept = np.ones(len(records), bool)
    for pid in started:
        mine = np.flatnonzero(records["pid"] == pid)
        execs = mine[records["kind"][mine] == EventKind.EXEC]
        kept[mine[mine < execs[0]] if len(execs) else mine] = False
    return records[kept]
