"""Where the way back begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.report import verdicts
from whyperf.diagnose.verdict import AbnormalVariable, CallChange, CallCounts
from whyperf.investigation.starts import beginnings
from whyperf.origin.starts import StartAtCalls, StartAtLine, StartAtVariable

BINARY = Path("/bin/tool")


def begun(verdict) -> list[object]:
    return [one.start for one in beginnings(verdict, lambda name: BINARY if name == "tool" else None)]


def test_what_the_deciding_line_names_comes_before_the_line_itself() -> None:
    starts = begun(verdicts.difference())
    assert starts[0] == StartAtVariable(BINARY, "find", "entry")  # while (entry != NULL) {
    assert StartAtLine(BINARY, "/src/tool.c", 39) in starts and StartAtLine(BINARY, "/src/tool.c", 40) in starts


def test_what_a_member_belongs_to_is_a_start_behind_the_member() -> None:
    verdict = verdicts.difference()
    first, *others = verdict.suspects
    lines = tuple(replace(one, text="while (entry->next)") if one.line == 39 else one for one in first.lines)
    starts = begun(replace(verdict, suspects=(replace(first, lines=lines), *others)))
    assert starts[:2] == [StartAtVariable(BINARY, "find", name) for name in ("entry->next", "entry")]


def test_values_that_differ_come_first() -> None:
    verdict = verdicts.difference()
    first, *others = verdict.suspects
    size = AbnormalVariable("table->size", "1024", "2", "value", (38,))
    step = AbnormalVariable("i", "+1", "+2", "delta", (38,))
    changed = replace(verdict, suspects=(replace(first, variables=(step, size)), *others))
    starts = begun(changed)
    assert starts[0] == StartAtVariable(BINARY, "find", "table->size")
    assert StartAtVariable(BINARY, "find", "i") not in starts


@pytest.mark.parametrize(
    ("share", "kind", "is_followed"), [(0.9, "calls", True), (0.1, "calls", False), (0.9, "self", False)]
)
def test_a_line_that_calls_more_often_by_exact_counts_comes_before_all(
    share: float, kind: str, is_followed: bool
) -> None:
    change = CallChange(kind, "serve", "tool", 61, "find", 70.0, 24000.0, share, "", "/src/serve.c")
    verdict = replace(verdicts.difference(), counts=CallCounts((1, 1), 1.0, (change,)))
    assert (begun(verdict)[0] == StartAtCalls(BINARY, "/src/serve.c", 61, "find")) == is_followed


def test_whose_calls_take_longer_by_exact_counts_is_asked_before_the_first_suspect() -> None:
    verdict = verdicts.difference()
    last = verdict.suspects[-1]
    change = CallChange("self", last.function, "tool", 0, "", 1e-7, 3e-5, 0.6, "")
    asked = [
        one.suspect.function
        for one in beginnings(replace(verdict, counts=CallCounts((1, 1), 1.0, (change,))), lambda _: BINARY)
    ]
    assert last.function != verdict.suspects[0].function and asked[0] == last.function
    assert verdict.suspects[0].function in asked


@pytest.mark.parametrize("called_first", [False, True])
def test_of_a_changed_call_the_caller_is_asked_before_the_callee(called_first: bool) -> None:
    verdict = verdicts.difference()
    suspects = verdict.suspects if called_first else verdict.suspects[::-1]
    callee, caller = suspects[0].function, suspects[-1].function
    change = CallChange("calls", caller, "tool", 61, callee, 1.0, 70.0, 0.9, "", "/src/tool.c")
    counted = replace(verdict, suspects=suspects, counts=CallCounts((1, 1), 1.0, (change,)))
    asked = dict.fromkeys(one.suspect.function for one in beginnings(counted, lambda _: BINARY))
    assert list(asked)[:2] == [caller, callee]


def test_modules_whose_file_is_not_there_are_passed_over() -> None:
    assert list(beginnings(verdicts.difference(), lambda _: None)) == []


def test_a_line_that_calls_more_often_is_a_start_though_nobody_there_is_a_suspect() -> None:
    """What costs little itself is no suspect; who pays has it in its chain."""
    verdict = verdicts.difference()
    change = CallChange("calls", "evaluate", "tool", 61, "apply", 0.0, 1.0, 0.8, "", "/src/variables.c")
    other = replace(change, module="unknown", line=70)
    counted = replace(verdict, counts=CallCounts((1, 1), 1.0, (change, other)))
    first, *others = beginnings(counted, lambda name: BINARY if name == "tool" else None)
    assert first.start == StartAtCalls(BINARY, "/src/variables.c", 61, "apply")
    assert first.suspect == verdict.suspects[0] and [one.start for one in others] == begun(verdict)
