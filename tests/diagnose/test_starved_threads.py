"""Time in the run queue is taken off the thread that had it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.diagnose.test_diagnosis import SLOW, STACKS, runs
from whyperf.diagnose.case import Case
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import VerdictKind
from whyperf.engines.run import Run

# A little more CPU time, beyond doubt: far less than what the wall clock shows.
BUSIER = [(words, seconds * 1.2) for words, seconds in STACKS]
POLL = ("main", "fetch", "libc:poll")
JOIN = ("main", "libc:pthread_join", "libc:futex")


@pytest.mark.parametrize("bad", [STACKS, BUSIER], ids=["cpu-as-ever", "cpu-grew"])
def test_a_background_thread_in_the_run_queue_does_not_hide_that_main_sleeps(bad):
    # GIVEN a main thread that sleeps for 6.5 s more, beside a poller that queued for 4 s of that
    good = runs(STACKS, wall_s=4.0, main_cpu_wait_s=0.0)
    verdict = diagnose(good, runs(bad, wall_s=10.5, cpu_wait_s=4.0, main_cpu_wait_s=0.0))
    # THEN the wall time is the symptom
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (VerdictKind.DIFFERENCE, "wait", "wall_s")
    # AND what else it might be is said, with what would show it
    assert any("One thread was runnable for 4.00 s more without getting a CPU" in note for note in verdict.notes)
    assert "--clock wall" in (verdict.next_command or "")


def test_the_main_threads_own_time_in_the_run_queue_is_no_wait():
    good = runs(STACKS, wall_s=12.0, cpu_wait_s=9.0, main_cpu_wait_s=9.0)
    verdict = diagnose(good, runs(SLOW, wall_s=28.0, cpu_wait_s=21.0, main_cpu_wait_s=21.0))
    assert verdict.symptom.kind == "cpu"
    assert not any("without getting a CPU" in note for note in verdict.notes)


def test_a_server_that_is_stopped_does_not_last_as_long_as_its_main_thread():
    # GIVEN workers that got no CPU, and a main thread that only listens
    good = runs(STACKS, wall_s=4.0, main_cpu_wait_s=0.0, stopped_by="driver")
    verdict = diagnose(good, runs(STACKS, wall_s=12.0, cpu_wait_s=8.0, main_cpu_wait_s=0.0, stopped_by="driver"))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.NONE, "external")


@pytest.mark.parametrize(("wall_s", "told"), [(12.0, True), (6.0, False)])
def test_wall_time_is_told_where_waiting_for_a_cpu_explains_more_of_it_than_cpu_time(wall_s, told):
    # GIVEN a server whose threads use 3 s more of CPU time, and one of which was runnable for the rest
    good = runs(STACKS, wall_s=2.0, stopped_by="driver")
    slow = [(words, seconds * 2.0) for words, seconds in STACKS]
    verdict = diagnose(good, runs(slow, wall_s=wall_s, cpu_wait_s=wall_s - 2.0, stopped_by="driver"))
    assert verdict.symptom.kind == "cpu"
    assert any("Wall time did grow, to 12.0 s from 2.00 s" in note for note in verdict.notes) is told


def blocked(stack, seconds, **more):
    return runs(STACKS, blocked=[(stack, seconds)], clock="wall", wall_s=3.0 + seconds, main_cpu_wait_s=0.0, **more)


def test_recorded_waits_tell_who_sleeps_from_who_waits_for_a_starved_thread():
    # GIVEN main in poll(), or in pthread_join(), while another thread queued
    sleeps = diagnose(blocked(POLL, 1.0), blocked(POLL, 20.0, cpu_wait_s=15.0))
    joins = diagnose(blocked(JOIN, 1.0), blocked(JOIN, 20.0, cpu_wait_s=15.0))
    # THEN the first waits and names who does
    assert (sleeps.symptom.kind, sleeps.suspects[0].function) == ("wait", "fetch")
    # AND the second got no CPU
    assert (joins.kind, joins.symptom.kind) == (VerdictKind.NONE, "external")
    assert "ready to run for 15.0 s more" in joins.symptom.sentence


@pytest.mark.parametrize(("slower", "kind"), [(None, "wait"), (True, "wait"), (False, "cpu")])
def test_kernel_events_tell_whether_anything_but_a_starved_thread_was_waited_for(monkeypatch, slower, kind):
    # GIVEN more CPU time, and a main thread that waited longer while another thread queued for about as long
    good = runs(STACKS, wall_s=4.0, main_cpu_wait_s=0.0)
    bad = runs(BUSIER, wall_s=10.5, cpu_wait_s=6.0, main_cpu_wait_s=0.0)
    # WHEN there are no kernel events, or they say that it waited longer, or that it did not
    view = None if slower is None else SimpleNamespace(slower=slower, claims=lambda _: (), unit="run", unit_notes=list)
    monkeypatch.setattr(Case, "contexts", view)
    case = Case([Run(one) for one in good], [Run(one) for one in bad], DiagnoseSettings())
    # THEN only the last leaves CPU time as the certain symptom
    assert case.decide().symptom.kind == kind
