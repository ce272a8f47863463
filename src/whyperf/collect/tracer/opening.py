"""Loading the tracer into the kernel, and what it tells of itself."""

from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyperf.collect.sampling.sampler import tables_folder
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.ringrecords import CUT_REASONS
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Shed, TraceSummary

if TYPE_CHECKING:
    from whyperf.collect._tracer import Tracer

_NOT_PERMITTED = frozenset({errno.EPERM, errno.EACCES})
# Names of counters by why a stack was cut, as in CUT_REASONS.
_CUT = ("", "no_module", "no_row", "rule", "register", "unreadable", "no_progress", "depth")
_BEFORE_MODULES = "the process' modules were not known yet"


# A waking tells who gets data, the call around it which; no engine asks for more.
_NOT_RECORDED = frozenset({EventKind.SYSCALL_ENTER, EventKind.DATA_READY})


@dataclass(frozen=True)
class Allowance:
    """What recording may take of each CPU before it sheds."""

    share: float
    burst_s: float = 0.0  # beyond that, until it has been saved again
    read_s: float = 0.0  # what reading a record takes, which counts


def open_tracer(scope: str, ring_bytes: int, sample_hz: int, allowance: Allowance) -> Tracer:
    """Loaded but paused. `ring_bytes` are for all CPUs together."""
    try:
        from whyperf.collect._tracer import Tracer
    except ImportError as error:
        raise WhyperfError(
            f"This whyperf was built without its tracer ({error}).", "pip install --force-reinstall whyperf"
        ) from None
    try:
        return Tracer(
            ring_bytes,
            sample_hz,
            scope,
            [kind for kind in EventKind if kind not in _NOT_RECORDED],
            tables_folder(),
            paused=True,
            shed_budget=allowance.share,
            shed_burst=allowance.burst_s,
            read_cost=allowance.read_s,
        )
    except MemoryError:
        raise WhyperfError(
            f"There is no memory for rings of {ring_bytes >> 20} MB.", "whyperf trace start --size 16M"
        ) from None
    except OSError as error:
        raise not_loaded(error) from None


def not_loaded(error: OSError) -> WhyperfError:
    why = error.strerror or str(error)
    if error.errno in _NOT_PERMITTED:
        return WhyperfError(f"Kernel events may not be recorded: {why}.", "sudo whyperf record --trace ...")
    return WhyperfError(f"The tracer could not be loaded into this kernel: {why}.", "whyperf doctor")


def trace_of(tracer: Tracer, scope: str, sample_hz: float, began: int) -> TraceSummary:
    """What the manifest says of it, as of now. `began`: when it did."""
    counters = tracer.counters()
    cut = {reason: counters.get(f"cut_{name}", 0) for name, reason in zip(_CUT, CUT_REASONS, strict=False) if name}
    # The first reason there is counts these too.
    cut[_BEFORE_MODULES] = counters.get("stacks_before_modules", 0)
    cut[CUT_REASONS[1]] = max(0, cut[CUT_REASONS[1]] - cut[_BEFORE_MODULES])
    return TraceSummary(
        source="bpf",
        scope=scope,
        sample_hz=sample_hz,
        absent=dict(tracer.absent),
        shed=tuple(shed_spans(tracer.sheds(), began, time.monotonic_ns())),
        events_lost=counters.get("events_lost", 0) + counters.get("tasks_lost", 0),
        runs_missed=counters.get("runs_missed", 0),
        stacks_cut={reason: count for reason, count in cut.items() if count},
        kernel_s=counters.get("cost_ns", 0) / 1e9,
        quick_calls=counters.get("quick_calls", 0),
    )


def shed_spans(changes: Sequence[tuple[int, int, int, int]], began: int, now: int) -> list[Shed]:
    """When what was left out on at least one CPU, from (time, CPU, level before, level after).

    The kernel keeps the last changes only: what a CPU left out before its first one, it may have from the beginning.
    """
    from whyperf.collect._tracer import SHED_LEVELS

    spans = []
    first: dict[int, int] = {}
    for _, cpu, before, _ in sorted(changes):
        first.setdefault(cpu, before)
    for level in range(1, len(SHED_LEVELS)):
        above = {cpu for cpu, before in first.items() if before >= level}
        since = began
        for when, cpu, _, after in sorted(changes):
            was = bool(above)
            (above.add if after >= level else above.discard)(cpu)
            if above and not was:
                since = when
            elif was and not above:
                spans.append(Shed(SHED_LEVELS[level], since, when))
        if above:
            spans.append(Shed(SHED_LEVELS[level], since, now))
    return spans


def notes_of(trace: TraceSummary) -> list[str]:
    """What whoever records should know at once; everything else is in the manifest."""
    notes = []
    if trace.events_lost:
        notes.append(f"{trace.events_lost} kernel events were overwritten before they could be read.")
    if trace.runs_missed:
        notes.append(f"{trace.runs_missed} kernel events were missed because the kernel was tracing another one.")
    if trace.shed:
        left_out = list(dict.fromkeys(shed.what for shed in trace.shed))
        longest = max(sum(shed.end - shed.start for shed in trace.shed if shed.what == what) for what in left_out) / 1e9
        notes.append(f"Events came so fast that for up to {longest:.1f} s these were left out: {'; '.join(left_out)}.")
    if trace.quick_calls:
        notes.append(f"{trace.quick_calls} system calls that neither waited nor woke anybody were counted only.")
    return notes
