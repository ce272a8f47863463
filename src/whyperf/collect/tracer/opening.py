"""Loading the tracer into the kernel, and what it tells of itself."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from whyperf.errors import WhyperfError
from whyperf.recording.manifest import Shed, Trace
from whyperf.recording.ringrecords import CUT_REASONS

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

_NOT_PERMITTED = frozenset({errno.EPERM, errno.EACCES})


def open_tracer(scope: str, ring_bytes: int, sample_hz: int, tables: str) -> Tracer:
    try:
        from whyperf.collect._tracer import Tracer
    except ImportError as error:
        raise WhyperfError(
            f"This whyperf was built without its tracer ({error}).", "pip install --force-reinstall whyperf"
        ) from None
    try:
        return Tracer(ring_bytes=ring_bytes, sample_hz=sample_hz, scope=scope, tables=tables)
    except MemoryError:
        raise WhyperfError(
            f"There is no memory for rings of {ring_bytes >> 20} MB a CPU.", "whyperf trace start --size 64M"
        ) from None
    except OSError as error:
        raise not_loaded(error) from None


def not_loaded(error: OSError) -> WhyperfError:
    why = error.strerror or str(error)
    if error.errno in _NOT_PERMITTED:
        return WhyperfError(f"Kernel events may not be recorded: {why}.", "sudo whyperf record --trace ...")
    return WhyperfError(f"The tracer could not be loaded into this kernel: {why}.", "whyperf doctor")


def trace_of(tracer: Tracer, scope: str, sample_hz: float) -> Trace:
    """What the manifest says of it, as of now."""
    counters = tracer.counters()
    cut = {reason: counters.get(f"cut_{number}", 0) for number, reason in enumerate(CUT_REASONS) if number}
    return Trace(
        source="bpf",
        scope=scope,
        sample_hz=sample_hz,
        absent=dict(tracer.absent),
        shed=tuple(Shed(*row) for row in tracer.shed()),
        events_lost=counters.get("records_lost", 0),
        runs_missed=counters.get("runs_missed", 0),
        stacks_lost=counters.get("stacks_lost", 0),
        stacks_cut={reason: count for reason, count in cut.items() if count},
    )


def notes_of(trace: Trace) -> list[str]:
    """What whoever records should know at once; everything else is in the manifest."""
    notes = []
    if trace.events_lost:
        notes.append(f"{trace.events_lost} kernel events were overwritten before they could be read.")
    if trace.runs_missed:
        notes.append(f"{trace.runs_missed} kernel events were missed because the kernel was tracing another one.")
    for what in dict.fromkeys(shed.what for shed in trace.shed):
        seconds = sum(shed.end - shed.start for shed in trace.shed if shed.what == what) / 1e9
        notes.append(f"Events came so fast that for {seconds:.1f} s {what} were left out.")
    return notes
