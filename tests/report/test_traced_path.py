"""Paths of slow contexts do not end in the tracer's own code."""

from __future__ import annotations

from whyperf.diagnose.verdict import ContextStep, SlowContext
from whyperf.report.traced_path import without_tracing


def _row(*functions, hot=0, layer="kernel"):
    steps = tuple(ContextStep(function, "[kernel]", layer, 1.0, 1) for function in functions)
    return SlowContext(1, 1.0, 0.0, 1.0, steps, hot)


def _names(row):
    return [step.function for step in row.steps]


def test_a_path_ends_where_the_tracer_begins():
    noted = ("bpf_trace_run2", "bpf_prog_db530048c2cd6ed8_wp_sys_exit", "unwind")
    assert _names(without_tracing(_row("main", "do_syscall_64", *noted))) == ["main", "do_syscall_64"]


def test_what_answers_for_the_time_stays():
    row = _row("main", "bpf_trace_run2", "slow", hot=2)
    assert without_tracing(row) == row


def test_a_programs_own_function_of_such_a_name_is_none_of_the_tracers():
    row = _row("main", "bpf_trace_run2", "slow", layer="main binary")
    assert without_tracing(row) == row
