"""Threads that run less side by side than they did, and wait for each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnose.test_diagnosis import runs
from whyperf.diagnose.diagnosis import diagnose, examine
from whyperf.diagnose.measured.significance import Direction
from whyperf.diagnose.measured.symptom_kind import TotalsGrowth, runs_less_side_by_side
from whyperf.diagnose.next_command.next_step import KnownPossible
from whyperf.diagnose.settings import DiagnoseSettings

FOUR_THREADS = [(("worker", "serve", "compose"), 4.0)]
DEARER = [(("worker", "serve", "compose"), 5.0)]
LOCK = ("worker", "serve", "libc:___pthread_mutex_lock", "libc:futex")
JOIN = ("main", "libc:pthread_join", "libc:futex")
REST = ("worker", "take", "libc:pthread_cond_wait", "libc:futex")

GREW = TotalsGrowth(Direction.GREW, Direction.GREW, Direction.SAME, 1.0, 1.0, 0.0, 0.0, 0.0, cpus=4.0)


@pytest.mark.parametrize(
    ("growth", "less"),
    [
        (GREW, True),
        (replace(GREW, cpus=1.0), False),
        (replace(GREW, cpus=0.2), False),  # a second of CPU time never explains more than a second
        (replace(GREW, wall_s=0.25), False),
        (replace(GREW, cpu_wait_s=0.8), False),
        (replace(GREW, wall=Direction.UNCLEAR), False),
    ],
)
def test_cpu_time_of_several_threads_explains_less_wall_time(growth, less):
    assert runs_less_side_by_side(growth, DiagnoseSettings()) is less


def test_wall_time_beyond_what_cpu_time_explains_is_said_with_the_next_command():
    # GIVEN four threads that used a quarter more CPU time, in twice the wall time
    good, bad = runs(FOUR_THREADS, wall_s=1.0), runs(DEARER, wall_s=2.0)
    verdict = diagnose(good, bad)
    # THEN the CPU time has its suspect, and the rest is not passed over
    assert (verdict.symptom.kind, verdict.suspects[0].function) == ("cpu", "compose")
    assert "Wall time grew by more than that explains, to 2.00 s from 1.00 s" in verdict.symptom.sentence
    assert (verdict.next_command or "").startswith("whyperf compare --clock wall ")
    traced = examine(good, bad, possible=KnownPossible(trace=True)).verdict
    assert (traced.next_command or "").startswith("whyperf compare --trace ")


def test_wall_time_that_cpu_time_explains_is_not_mentioned():
    verdict = diagnose(runs(FOUR_THREADS, wall_s=1.0), runs(DEARER, wall_s=1.25))
    assert "Wall time" not in verdict.symptom.sentence
    assert "compare" not in (verdict.next_command or "")


def waiting(stacks, wall_s, lock_s, rest_s=0.0):
    blocked = [(LOCK, lock_s), (JOIN, wall_s), (REST, rest_s)]
    return runs(stacks, blocked=blocked, clock="wall", wall_s=wall_s, threads=4)


@pytest.mark.parametrize("stacks", [FOUR_THREADS, DEARER], ids=["cpu-as-ever", "cpu-grew"])
def test_who_waits_for_a_lock_is_named_and_not_who_waits_along(stacks):
    # GIVEN workers that wait for a lock, and main that waits for them to end
    good, bad = waiting(FOUR_THREADS, 1.0, 0.01), waiting(stacks, 2.0, 4.0)
    verdict = examine(good, bad, possible=KnownPossible(trace=True)).verdict
    assert verdict.symptom.kind == "wait"
    assert [suspect.function for suspect in verdict.suspects] == ["serve"]
    # THEN whoever holds the lock is still to be found
    assert any("Who holds the lock" in note for note in verdict.notes)
    assert "--trace" in (verdict.next_command or "")


def test_threads_that_rest_while_one_works_are_not_the_cause():
    # GIVEN a part that one thread does alone, while the others wait for work
    alone = [*FOUR_THREADS, (("main", "plan"), 1.0)]
    verdict = diagnose(waiting(FOUR_THREADS, 1.0, 0.01), waiting(alone, 2.0, 0.01, rest_s=3.0))
    assert (verdict.symptom.kind, verdict.suspects[0].function) == ("cpu", "plan")
