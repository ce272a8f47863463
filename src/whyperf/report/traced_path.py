"""A slow context's path up to where the kernel began to note it down: what lies behind is the tracer itself."""

from __future__ import annotations

import re
from dataclasses import replace

from whyperf.diagnose.verdict import SlowContext

_TRACING = re.compile(r"(__bpf_trace_|bpf_trace_run\d|bpf_prog_[0-9a-f]{16}_|__traceiter_|perf_trace_|perf_syscall_)")


def without_tracing(row: SlowContext) -> SlowContext:
    """The function that answers for the time stays, whatever it is."""
    ends = (at for at, step in enumerate(row.steps) if step.layer == "kernel" and _TRACING.match(step.function))
    return replace(row, steps=row.steps[: max(row.hot + 1, next(ends, len(row.steps)))])
