"""Counted and sampled recordings become a call graph, and the excess a list of what changed."""

from __future__ import annotations

import pytest

from tests.engines.call_counts.counted_recordings import Calls, counted
from tests.engines.made import Stacks, recording
from whyperf.engines.call_counts.changes import BlamedChange, ChangeKind, Divided, divide
from whyperf.engines.call_counts.counted import CountedProgram, CountedRuns, counted_program
from whyperf.engines.run import Run


def joined(
    good: tuple[Stacks, Calls], bad: tuple[Stacks, Calls], *, entries: tuple[dict[str, int], dict[str, int]] = ({}, {})
) -> CountedProgram:
    sides = [
        CountedRuns([Run(recording(stacks))], [Run(counted(calls, known))])
        for (stacks, calls), known in zip((good, bad), entries, strict=True)
    ]
    return counted_program(*sides)


def names(program: CountedProgram, divided: Divided) -> list[str]:
    return [program.index.functions[one.function].key.name for one in divided.functions]


def said(program: CountedProgram, change: BlamedChange) -> tuple[str, ...]:
    called = () if change.callee is None else (program.index.functions[change.callee].key.name,)
    return change.kind.value, program.index.functions[change.function].key.name, *called


def test_the_caller_that_calls_more_often_is_first_with_its_line_and_counts() -> None:
    # GIVEN a program whose time is all in `flush`, which `plan` calls from line 42
    stacks = [(("main", "plan@42", "flush"), 1.0), (("main", "read"), 1.0)]
    slow = [(("main", "plan@42", "flush"), 30.0), (("main", "read"), 1.0)]
    program = joined(
        (stacks, {("main", "plan"): 60, ("plan@42", "flush"): 60 * 71, ("main", "read"): 60}),
        (slow, {("main", "plan"): 60, ("plan@42", "flush"): 60 * 2130, ("main", "read"): 60}),
    )
    # WHEN the excess is divided
    divided = divide(program)
    # THEN it is `plan`'s, and the row says what people understand
    assert names(program, divided)[0] == "plan"
    change = divided.functions[0].changes[0]
    assert said(program, change) == ("calls", "plan", "flush")
    assert change.place is not None and change.place.line == 42
    assert (change.baseline, change.slow) == (pytest.approx(71), pytest.approx(2130))
    assert change.part_s == pytest.approx(29.0) and divided.excess_s == pytest.approx(29.0)
    assert divided.functions[0].activations == (60, 60)


def test_library_and_inlined_time_is_the_counted_functions_own() -> None:
    program = joined(
        ([(("main", "look", "~probe", "libc:strcmp"), 1.0)], {("main", "look"): 10}),
        ([(("main", "look", "~probe", "libc:strcmp"), 5.0)], {("main", "look"): 10}),
    )
    divided = divide(program)
    assert said(program, divided.functions[0].changes[0]) == ("self", "look")
    assert divided.functions[0].changes[0].slow == pytest.approx(0.5)  # seconds a call


def test_a_call_is_named_by_the_function_that_holds_it_in_the_source() -> None:
    # GIVEN `take` with `refill` inlined into it, which collects far more often
    stacks = [(("main", "take", "collect"), 1.0)]
    slow = [(("main", "take", "collect"), 50.0)]
    program = joined(
        (stacks, {("main", "take"): 1000, ("take~refill@12", "collect"): 10}),
        (slow, {("main", "take"): 1000, ("take~refill@12", "collect"): 500}),
    )
    change = divide(program).functions[0].changes[0]
    assert said(program, change) == ("calls", "take", "collect")
    assert change.place is not None
    assert (program.index.functions[change.place.function].key.name, change.place.line) == ("refill", 12)


def test_counts_are_per_unit_of_work() -> None:
    sides = [
        CountedRuns(
            [Run(recording([(("main", "serve"), seconds)], units=units))],
            [Run(counted({("main", "serve"): calls}, units=counted_units))],
        )
        for seconds, units, calls, counted_units in ((1.0, 10, 100, 10), (8.0, 20, 50, 5))
    ]
    program = counted_program(*sides)
    divided = divide(program)
    # 10 calls per request on both sides, at 10 and 40 ms each
    assert said(program, divided.functions[0].changes[0]) == ("self", "serve")
    change = divided.functions[0].changes[0]
    assert (change.baseline, change.slow) == (pytest.approx(0.01), pytest.approx(0.04))
    assert divided.excess_s == pytest.approx(0.3)


def test_calls_through_pointers_are_those_callers_that_samples_show() -> None:
    # GIVEN `dispatch` calls `handle` through a pointer: its site does not know whom, entries of `handle` are counted
    def side(seconds: float, times: int) -> tuple[Stacks, Calls]:
        return [(("main", "dispatch", "handle"), seconds)], {("main", "dispatch"): 5, ("dispatch", "*"): times}

    program = joined(side(1.0, 50), side(9.0, 450), entries=({"handle": 50}, {"handle": 450}))
    divided = divide(program)
    assert names(program, divided)[0] == "dispatch"
    change = divided.functions[0].changes[0]
    assert said(program, change) == ("calls", "dispatch", "handle")
    assert (change.baseline, change.slow) == (pytest.approx(10), pytest.approx(90))


def test_iterations_are_no_calls() -> None:
    # GIVEN a function that goes round more often, and one that somebody else calls through a pointer
    def side(rounds: int) -> tuple[Stacks, Calls]:
        return [(("main", "scan"), 1.0), (("main", "scan", "compare"), 1.0)], {
            ("main", "scan"): 5,
            ("scan", "loop"): rounds,
        }

    program = joined(side(10), side(1000), entries=({"compare": 50}, {"compare": 50}))
    # THEN the iterations do not make it the caller
    assert not any(site.by_pointer for site in program.sites)


def test_what_nobody_counted_enters_from_outside() -> None:
    program = joined(
        ([(("start_thread", "worker"), 1.0)], {("worker", "step"): 10}),
        ([(("start_thread", "worker"), 4.0)], {("worker", "step"): 40}),
        entries=({"worker": 1}, {"worker": 4}),
    )
    divided = divide(program)
    assert said(program, divided.outside[0]) == ("outside", "worker")
    assert divided.outside[0].part_s == pytest.approx(3.0)


def test_stacks_without_counted_code_are_told_apart() -> None:
    program = joined(
        ([(("main", "work"), 1.0), (("lib:own_thread",), 0.5)], {("main", "work"): 1}),
        ([(("main", "work"), 2.0), (("lib:own_thread",), 0.7)], {("main", "work"): 1}),
    )
    assert program.uncounted_s == (pytest.approx(0.5), pytest.approx(0.7))
    assert divide(program).excess_s == pytest.approx(1.0)


def test_code_that_could_not_be_counted_is_not_the_time_of_the_library_that_called_it() -> None:
    # GIVEN a program of which only the start could be counted, as it has no unwind information
    calls = {("_start", "libc:__libc_start_main"): 1}
    program = joined(
        ([(("_start", "libc:__libc_start_main", "main", "find"), 1.0)], calls),
        ([(("_start", "libc:__libc_start_main", "main", "find"), 9.0)], calls),
    )
    # THEN nothing is said about it
    assert program.uncounted_s == (pytest.approx(1.0), pytest.approx(9.0))
    assert divide(program).functions == ()


def test_the_same_behaviour_has_no_blame() -> None:
    side = ([(("main", "plan", "flush"), 1.0)], {("main", "plan"): 6, ("plan", "flush"): 60})
    divided = divide(joined(side, side))
    assert divided.functions == () and divided.outside == () and divided.excess_s == 0


def test_parts_add_up() -> None:
    program = joined(
        (
            [(("main", "a", "b"), 1.0), (("main", "c", "b"), 1.0), (("main", "a"), 0.5)],
            {("main", "a"): 3, ("a", "b"): 30, ("main", "c"): 2, ("c", "b"): 30},
        ),
        (
            [(("main", "a", "b"), 7.0), (("main", "d", "b"), 2.0), (("main", "a"), 0.9)],
            {("main", "a"): 4, ("a", "b"): 200, ("main", "d"): 2, ("d", "b"): 60},
        ),
    )
    divided = divide(program)
    parts = sum(one.part_s for one in divided.functions) + sum(change.part_s for change in divided.outside)
    assert parts == pytest.approx(divided.excess_s)
    assert all(sum(c.part_s for c in one.changes) == pytest.approx(one.part_s) for one in divided.functions)
    assert {change.kind for one in divided.functions for change in one.changes} <= {ChangeKind.CALLS, ChangeKind.SELF}


def test_a_function_that_most_units_of_work_never_enter_is_entered_that_rarely() -> None:
    # GIVEN one of 100 requests in which `collect` runs, and calls `visit` 50 times, 5,000 in slow runs
    def side(visits: int, visiting_s: float) -> CountedRuns:
        stacks = [(("main", "collect", "visit"), visiting_s)]
        calls = {("main", "collect"): 1, ("collect", "visit"): visits}
        return CountedRuns([Run(recording(stacks, units=100))], [Run(counted(calls, units=100))])

    divided = divide(counted_program(side(50, 1.0), side(5000, 100.0)))
    collect = divided.functions[0]
    assert collect.activations == (pytest.approx(0.01), pytest.approx(0.01))
    assert (collect.changes[0].baseline, collect.changes[0].slow) == (pytest.approx(50), pytest.approx(5000))
