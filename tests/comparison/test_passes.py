"""Which further runs a comparison makes by itself."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.report import verdicts
from whyperf.comparison.passes import (
    SHORTEST_BUDGET_S,
    Pass,
    fits,
    functions_first,
    further_pass,
    pairs_to_see_waits,
    seconds_of,
)
from whyperf.diagnose.next_command.next_step import NextStep
from whyperf.diagnose.verdict import Evidence
from whyperf.engines.memory.detail import MemoryDetail


def _held(freed_in: str | None) -> MemoryDetail:
    figures = [field.name for field in fields(MemoryDetail) if field.name.endswith(("bytes", "allocations"))]
    return MemoryDetail(
        **dict.fromkeys(figures, 1.0),
        reason="not-freed",
        sigma=9.0,
        allocated_in="find",
        code="unknown",
        values=(),
        freed_in=freed_in,
    )


def test_computing_is_counted_and_then_proven_once_each() -> None:
    verdict, taken = verdicts.difference(), list[Pass]()
    while (choice := further_pass(verdict, None, taken)) is not None:
        taken.append(choice.kind)
    assert taken == [Pass.COUNTS, Pass.PROOF]


@pytest.mark.parametrize(("option", "kind"), [("--trace", Pass.TRACE), ("--clock", Pass.WAITS)])
def test_what_would_settle_it_is_done(option: str, kind: Pass) -> None:
    verdict = verdicts.waiting()
    step = NextStep((option, "wall"), "")
    choice = further_pass(verdict, step, ())
    assert choice is not None and choice.kind is kind
    assert further_pass(verdict, step, {kind}) is None


def test_waiting_threads_are_sampled_where_kernel_events_named_nobody() -> None:
    # GIVEN kernel events that were asked for and could not be had, since another tracer runs, or told nothing
    verdict, step = replace(verdicts.waiting(), suspects=()), NextStep(("--trace",), "")
    choice = further_pass(verdict, step, {Pass.TRACE})
    assert choice is not None and choice.kind is Pass.WAITS
    assert further_pass(verdict, step, {Pass.TRACE, Pass.WAITS}) is None


def test_what_waits_or_needs_memory_is_proven_where_the_user_wants_it() -> None:
    waiting = verdicts.waiting()
    choice = further_pass(waiting, None, (), wants_proof=True)
    assert choice is not None and choice.kind is Pass.PROOF
    assert further_pass(waiting, None, {Pass.PROOF}, wants_proof=True) is None
    assert further_pass(waiting, None, ()) is None


def test_nothing_is_done_where_nothing_differs_or_the_user_must_act() -> None:
    assert further_pass(verdicts.nothing(), None, ()) is None
    assert further_pass(verdicts.waiting(), NextStep(("--runs", "6"), ""), ()) is None


def test_memory_is_recorded_where_it_grew_and_nothing_else_did() -> None:
    grown = replace(verdicts.nothing(), memory_grew=True)
    choice = further_pass(grown, None, ())
    assert choice is not None and choice.kind is Pass.MEMORY
    assert further_pass(grown, None, {Pass.MEMORY}) is None
    slower = further_pass(replace(verdicts.difference(), memory_grew=True), None, ())
    assert slower is not None and slower.kind is Pass.COUNTS


@pytest.mark.parametrize(("freed_in", "kind"), [("find", Pass.COUNTS), ("another", None), (None, None)])
def test_calls_are_counted_where_it_is_open_whether_who_freed_memory_is_still_called(
    freed_in: str | None, kind: Pass | None
) -> None:
    verdict = verdicts.difference()
    first = replace(verdict.suspects[0], evidence=(Evidence("memory", 1, 1.0, _held(freed_in)),))
    assert first.function == "find"
    symptom = replace(verdict.symptom, kind="memory", measure="peak_bytes")
    held = replace(verdict, symptom=symptom, suspects=(first, *verdict.suspects[1:]))
    choice = further_pass(held, None, {Pass.MEMORY})
    assert (choice and choice.kind) == kind
    assert further_pass(held, None, {Pass.MEMORY, Pass.COUNTS}) is None


def test_instructions_of_deep_recordings_are_not_counted_again() -> None:
    verdict = verdicts.difference()
    assert further_pass(replace(verdict, symptom=replace(verdict.symptom, measure="instructions")), None, ()) is None


def test_as_many_pairs_again_fit_into_as_long_again() -> None:
    first_s = 30.0
    assert fits(seconds_of(Pass.TRACE, first_s / 3, 3), first_s - 0.5)
    assert fits(seconds_of(Pass.COUNTS, first_s / 3, 3), first_s - 0.5)
    assert not fits(seconds_of(Pass.PROOF, first_s / 3, 3), first_s)


def test_a_proof_fits_after_counting_where_a_run_takes_four_seconds() -> None:
    pair_s = 2 * 4.0
    left_s = SHORTEST_BUDGET_S - seconds_of(Pass.COUNTS, pair_s, 3)
    assert fits(seconds_of(Pass.PROOF, pair_s, 3), left_s)
    assert not fits(seconds_of(Pass.PROOF, 2 * pair_s, 3), left_s)


@pytest.mark.parametrize(
    ("added_s", "left_s", "pairs"), [(10.0, 60.0, 3), (0.1, 60.0, 9), (0.1, 12.0, 6), (0.1, 1.0, 3), (0.001, 600.0, 20)]
)
def test_short_waits_are_looked_at_in_more_runs_as_far_as_time_permits(
    added_s: float, left_s: float, pairs: int
) -> None:
    # GIVEN pairs of two seconds, of which bad runs take so much longer
    symptom = replace(verdicts.waiting().symptom, unit="run", measure="wall_s", good=1.0, bad=1.0 + added_s)
    verdict = replace(verdicts.waiting(), symptom=symptom)
    assert pairs_to_see_waits(verdict, 3, 2.0, left_s) == pairs
    # THEN units of which a run has many are seen often enough
    assert pairs_to_see_waits(replace(verdict, symptom=replace(symptom, unit="request")), 3, 2.0, left_s) == 3


def test_functions_of_another_build_are_tried_first_where_runs_are_short() -> None:
    slower, left_s = verdicts.difference(), SHORTEST_BUDGET_S
    assert functions_first(slower, (), 10.0, left_s)
    assert not functions_first(slower, (), 20.0, left_s)
    assert not functions_first(slower, {Pass.PROOF}, 1.0, left_s)
    assert not functions_first(verdicts.waiting(), (), 1.0, left_s)
    assert not functions_first(verdicts.nothing(), (), 1.0, left_s)
