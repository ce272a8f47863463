"""What `whyperf info` says of kernel events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyperf.recording.sealed.manifest import TraceSummary
    from whyperf.recording.sealed.reader import Recording

_KINDS_SHOWN = 8
_SCOPES = {
    "tree": "the program, what it started and what they talked to",
    "process": "one process and what it talked to",
    "all": "all processes",
}


def events_by_kind(recording: Recording) -> dict[str, int]:
    """The most frequent first."""
    import numpy as np

    from whyperf.recording.schemas.events import EventKind

    counts = np.zeros(256, np.int64)
    for piece in recording.rows("events").pieces(("kind",)):
        counts += np.bincount(piece["kind"], minlength=256)
    names: dict[int, str] = {kind: kind.name.lower().replace("_", " ") for kind in EventKind}
    rows = ((names.get(kind, f"kind {kind}"), int(count)) for kind, count in enumerate(counts) if count)
    return dict(sorted(rows, key=lambda row: -row[1]))


def trace_facts(recording: Recording) -> dict[str, Any]:
    return {} if recording.manifest.trace is None else {"events": events_by_kind(recording)}


def trace_lines(recording: Recording, trace: TraceSummary) -> Iterator[tuple[str, str]]:
    kinds = events_by_kind(recording)
    total = sum(kinds.values())
    shown = ", ".join(f"{name} {count:,}" for name, count in list(kinds.items())[:_KINDS_SHOWN])
    more = f" and {len(kinds) - _KINDS_SHOWN} kinds more" if len(kinds) > _KINDS_SHOWN else ""
    yield "events", f"{total:,} of {_SCOPES.get(trace.scope, trace.scope)} ({trace.source}): {shown}{more}"
    for what, why in trace.absent.items():
        yield "absent", f"{what}: {why}"
    yield from shed_lines(trace)


def shed_lines(trace: TraceSummary) -> Iterator[tuple[str, str]]:
    for what in dict.fromkeys(shed.what for shed in trace.shed):
        seconds = sum(shed.end - shed.start for shed in trace.shed if shed.what == what) / 1e9
        yield "shed", f"{what}, for {seconds:.1f} s in which events came too fast"


def trace_losses(trace: TraceSummary) -> Iterator[str]:
    counts = (
        (trace.events_lost, "kernel events overwritten before they were read"),
        (trace.runs_missed, "kernel events missed because the kernel was tracing another one"),
        (trace.stacks_lost, "stacks of kernel events that found no room"),
    )
    yield from (f"{count:,} {what}" for count, what in counts if count)
    for reason, count in trace.stacks_cut.items():
        yield f"the outer end of {count:,} kernel events' stacks: {reason}"
    for what, count in trace.passed_over.items():
        yield f"{count:,} imported events that whyperf makes no use of: {what}"
