"""From samples of tracepoints to records like our own tracer's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.importers._perf_data import fields
from whyperf.importers.perf_data.container import Container
from whyperf.importers.perf_data.layout import HIGHEST_PID, NOBODY
from whyperf.importers.perf_data.samples import Samples
from whyperf.importers.perf_data.tracepoints import Field, Format
from whyperf.importers.perf_data.translation import TOLD_BY_RECORDS, Translation, translation_of
from whyperf.importers.perf_data.weights import CpuSamples
from whyperf.recording.schemas.events import EventKind

NO_DETAIL = -1
_WAKING, _WAKEUP = "sched:sched_waking", "sched:sched_wakeup"
_COMMON_PID = Field(4, 4, signed=True)  # every tracepoint has the current thread there

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Translated:
    records: Records
    passed_over: dict[str, int]  # events that recordings have no use for -> how many


class ThreadNumbers:
    """Which process a thread belongs to: tracepoints name threads only."""

    def __init__(self, tid: npt.NDArray[np.uint32], pid: npt.NDArray[np.uint32]) -> None:
        self._tid, first = np.unique(tid, return_index=True)
        self._pid = pid[first]

    def name_nobodies(self, samples: Samples, data: memoryview) -> int:
        """Threads that are about to end have no numbers any more, but tracepoints tell; how many stay unknown.

        Those are given to the idle task, whose time is nobody's.
        """
        nobody = np.flatnonzero((samples["pid"] == NOBODY) | (samples["tid"] == NOBODY))
        tid = _Raw(data, samples).values(nobody, _COMMON_PID)
        both = self.both(np.maximum(tid, 0).astype(np.uint64))
        samples["tid"][nobody], samples["pid"][nobody] = both & np.uint64(NOBODY), both >> np.uint64(32)
        return int(np.count_nonzero(samples["raw_size"][nobody] == 0))

    def both(self, tid: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """pid << 32 | tid, 0 for the idle task; a thread never met is taken for a process of its own."""
        tid = np.where(tid < HIGHEST_PID, tid, np.uint64(0))
        if not len(self._tid):
            return tid << np.uint64(32) | tid
        at = np.minimum(np.searchsorted(self._tid, tid), len(self._tid) - 1)
        known = self._tid[at] == tid
        pid = np.where(known, self._pid[at].astype(np.uint64), tid)
        return pid << np.uint64(32) | tid


def translate(container: Container, samples: Samples, timed: CpuSamples, threads: ThreadNumbers) -> Translated:
    """Samples of CPU time and of tracepoints, in the order of the samples."""
    plan, passed_over = _plan(container, samples, timed)
    used = np.zeros(len(samples), bool)
    used[timed.rows] = True
    for tracepoint in plan:
        used[tracepoint.rows] = True
    records = _bare(samples, used)
    place = np.cumsum(used) - 1
    records["kind"][place[timed.rows]] = EventKind.SAMPLE
    records["argument"][place[timed.rows], 0] = timed.weight
    for tracepoint in plan:
        _fill(records, place[tracepoint.rows], tracepoint, _Raw(container.data, samples), threads)
    return Translated(records, passed_over)


@dataclass(frozen=True)
class _Tracepoint:
    rows: Int64  # its samples
    format: Format
    translation: Translation


@dataclass(frozen=True)
class _Raw:
    """Where the bytes of tracepoints are."""

    data: memoryview
    samples: Samples

    def values(self, rows: Int64, where: Field) -> Int64:
        """The field of these samples; 0 where a sample is too short for it."""
        if where.size not in (1, 2, 4, 8):
            return np.zeros(len(rows), np.int64)
        raw = fields(self.data, self.samples.data, rows.data, where.offset, where.size, where.signed)
        return np.frombuffer(raw, np.int64).copy()


def _plan(container: Container, samples: Samples, timed: CpuSamples) -> tuple[list[_Tracepoint], dict[str, int]]:
    """What is made of each event, and how many samples nothing is made of."""
    formats = container.features.formats
    names = {one.name for one in formats.values()}
    plan: list[_Tracepoint] = []
    passed_over: Counter[str] = Counter()
    for number, event in enumerate(container.events):
        rows = np.flatnonzero(samples["event"] == number)
        if not len(rows) or number in timed.events:
            continue
        found = formats.get(event.config) if event.is_tracepoint else None
        # Where both were recorded, a wakeup repeats the waking that led to it.
        repeated = found is not None and found.name == _WAKEUP and _WAKING in names
        translation = translation_of(found.name, list(found.fields)) if found and not repeated else None
        if found is not None and translation is not None:
            plan.append(_Tracepoint(rows, found, translation))
        elif not repeated and not (found and found.name in TOLD_BY_RECORDS):
            passed_over[found.name if found else event.name] += len(rows)
    return plan, dict(passed_over)


def _bare(samples: Samples, used: npt.NDArray[np.bool_]) -> Records:
    records = np.zeros(np.count_nonzero(used), RECORD)
    for name in ("time", "tid", "pid", "kernel_stack"):
        records[name] = samples[name][used]
    records["stack"] = samples["user_stack"][used]
    records["cpu"] = np.minimum(samples["cpu"][used], np.iinfo(np.int16).max)
    records["detail"] = NO_DETAIL
    return records


def _fill(records: Records, at: Int64, tracepoint: _Tracepoint, raw: _Raw, threads: ThreadNumbers) -> None:
    translation = tracepoint.translation
    records["kind"][at] = translation.kind
    for column, constant in translation.constants.items():
        records[column][at] = constant
    for column, name in translation.columns.items():
        where = _field(tracepoint.format, name)
        if where is None:
            continue  # another kernel's tracepoint may lack it
        values = raw.values(tracepoint.rows, where)
        if column in translation.masks:
            values &= translation.masks[column]
        if column == "other":
            records["other"][at] = threads.both(values.astype(np.uint64) & np.uint64(0xFFFFFFFF))
        elif column.startswith("argument"):
            records["argument"][at, int(column[-1])] = values.view(np.uint64)
        else:
            records[column][at] = values.astype(records.dtype[column])


def _field(found: Format, name: str) -> Field | None:
    """A field, or one word of an array: `args[1]`."""
    array, _, index = name.partition("[")
    whole = found.fields.get(array)
    if whole is None or not index:
        return whole
    at = 8 * int(index.rstrip("]"))
    return Field(whole.offset + at, 8, signed=False) if at + 8 <= whole.size else None
