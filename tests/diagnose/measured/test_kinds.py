"""What kind of trouble it is, by everything that the first runs measured."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.diagnose.test_diagnosis import SLOW, STACKS, runs
from whyperf.ci.judging import judge_change
from whyperf.ci.state import BenchmarkState
from whyperf.collect.runs import runner
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.measured.looks import LOOK_S
from whyperf.diagnose.measured.total_changes import sentence
from whyperf.diagnose.verdict import TotalChange, VerdictKind
from whyperf.diagnose.wording import busy_machine
from whyperf.recording.sealed.latency import LatencyCount
from whyperf.recording.sealed.manifest import Host, RunOptions, ThreadTimes, TraceSummary


def thread(name, lived_s, run_s=0.0, runnable_s=0.0, *, main=False, **blocked_s):
    return ThreadTimes(name, main, lived_s, run_s, runnable_s, 10, blocked_s)


def with_cpus(count):
    return Host("host", "6.1", "x86_64", count)


def requests(median_s, tail_s, count=2000, tail=0.02, seed=0):
    """Of which a part takes far longer than the rest."""
    draw, counted = random.Random(seed), LatencyCount("driver")
    counted.add((tail_s if draw.random() < tail else median_s) * draw.uniform(0.9, 1.1) for _ in range(count))
    return counted.latency


def test_a_poller_in_the_run_queue_hides_no_sleep_of_a_server():
    # GIVEN a server whose main thread sleeps for 6 s more, beside a thread that polls and queued for 4 s
    def side(asleep_s, queued_s, wall_s):
        main = thread("server", wall_s, 0.5, main=True, clock_nanosleep=asleep_s, epoll_wait=wall_s - asleep_s - 0.5)
        poller = thread("poller", wall_s, 0.01, queued_s, clock_nanosleep=wall_s - queued_s)
        return runs(STACKS, wall_s=wall_s, stopped_by="driver", cpu_wait_s=queued_s, thread_times=(main, poller))

    verdict = diagnose(side(0.5, 0.0, 4.0), side(6.5, 4.0, 10.0))
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (VerdictKind.DIFFERENCE, "wait", "wall_s")


def test_workers_of_a_server_that_get_no_cpu_are_no_wait():
    def side(queued_s, wall_s):
        worker = thread("worker", wall_s, 1.5, queued_s, futex=wall_s - queued_s - 1.5)
        return runs(STACKS, wall_s=wall_s, stopped_by="driver", cpu_wait_s=queued_s, thread_times=(worker,))

    verdict = diagnose(side(0.0, 4.0), side(8.0, 12.0))
    assert (verdict.kind, verdict.symptom.kind) == (VerdictKind.NONE, "external")


def test_a_little_more_cpu_time_of_many_threads_does_not_hide_twice_the_elapsed_time():
    # GIVEN eight threads that use 3 s more of CPU time together, and take 2 s longer side by side
    def side(cpu_each_s, wall_s):
        names = [thread("worker", wall_s, cpu_each_s, futex=wall_s - cpu_each_s) for _ in range(8)]
        stacks = [(("worker", "serve"), 8 * cpu_each_s)]
        main = thread("main", wall_s, main=True, futex=wall_s)
        return runs(stacks, wall_s=wall_s, thread_times=(main, *names), host=with_cpus(8))

    verdict = diagnose(side(0.8, 1.0), side(1.2, 3.0))
    assert (verdict.symptom.kind, verdict.symptom.measure) == ("wait", "wall_s")
    assert any("CPU time 9.60 s, was 6.40 s" in note for note in verdict.notes)


@pytest.mark.parametrize("cpus", [2, 64])
def test_more_threads_than_cpus_do_not_wait(cpus):
    # GIVEN forty threads that compute one after another on two CPUs, or all at a time, while the first waits for them
    def side(cpu_s, wall_s):
        queued_s = max(wall_s - cpu_s / 40, 0.0)
        workers = [thread("worker", wall_s, cpu_s / 40, queued_s) for _ in range(40)]
        main = thread("main", wall_s, main=True, futex=wall_s)
        stacks = [(("worker", "serve"), cpu_s)]
        return runs(
            stacks, wall_s=wall_s, cpu_wait_s=queued_s, main_cpu_wait_s=0.0, thread_times=(main, *workers),
            host=with_cpus(cpus),
        )  # fmt: skip

    verdict = diagnose(side(8.0, 8.0 / min(cpus, 40)), side(16.0, 16.0 / min(cpus, 40)))
    # THEN their CPU time is why it takes twice as long, though no thread alone computes much
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (VerdictKind.DIFFERENCE, "cpu", "cpu_s")
    assert verdict.suspects[0].function == "serve"


def test_the_tail_of_requests_is_the_symptom_and_fails_the_gate():
    # GIVEN requests whose p99 went from 0.9 to 81 ms, at a third more CPU time
    good = [
        one for seed in range(3) for one in runs(STACKS, [1.0], wall_s=4.0, latency=requests(5e-4, 9e-4, seed=seed))
    ]
    bad = [
        one
        for seed in range(3)
        for one in runs(STACKS, [1.3], wall_s=4.4, latency=requests(5e-4, 81e-3, seed=10 + seed))
    ]
    verdict = diagnose(good, bad)
    # THEN that is what is said
    assert (verdict.kind, verdict.symptom.kind, verdict.symptom.measure) == (
        VerdictKind.DIFFERENCE, "latency", "latency_p99_s",
    )  # fmt: skip
    assert verdict.symptom.sentence.startswith("p99 of a request: 8")
    (tail,) = (one for one in verdict.percentiles if one.percentile == 99)
    assert tail.good_interval[0] <= tail.good <= tail.good_interval[1] < tail.bad_interval[0] <= tail.bad
    assert tail.certain
    # AND the gate does not let it pass
    judged = judge_change(verdict, lambda: diagnose(bad, good), threshold=0.1)
    assert judged.state is BenchmarkState.SLOWER
    assert "p99 latency" in judged.sentence


def test_calls_that_take_longer_are_called_so():
    def side(tail_s):
        latency = replace(requests(5e-4, tail_s), source="calls", function="handle")
        return runs(STACKS, wall_s=4.0, latency=latency)

    verdict = diagnose(side(9e-4), side(81e-3))
    assert verdict.symptom.sentence.startswith("p99 of a call of handle: 79")
    assert (verdict.symptom.kind, verdict.symptom.unit) == ("latency", "call")


def test_requests_as_quick_as_before_are_no_symptom():
    def side(first):
        return [
            one for seed in range(3) for one in runs(STACKS, [1.0], latency=requests(5e-4, 9e-3, seed=first + seed))
        ]

    verdict = diagnose(side(0), side(100))
    assert verdict.kind is VerdictKind.NONE
    assert not any(one.certain for one in verdict.percentiles)


@pytest.mark.parametrize("busy", [True, False])
def test_a_busy_machine_is_said_first(busy):
    queued = 7.0 if busy else 0.1

    def side(asleep_s):
        wall_s = 3.0 + asleep_s + queued
        main = thread("tool", wall_s, 3.0, queued, main=True, clock_nanosleep=asleep_s)
        return runs(STACKS, wall_s=wall_s, cpu_wait_s=queued, main_cpu_wait_s=queued, thread_times=(main,))

    verdict = diagnose(side(0.0), side(12.0))
    assert verdict.machine.startswith("The machine was busy") is busy
    # THEN the program's own time decides
    assert (verdict.symptom.kind, verdict.symptom.measure) == ("wait", "own_s" if busy else "wall_s")


@pytest.mark.parametrize(
    ("good", "bad", "said"), [(0.6, 8.5, "0.6 times"), (8.5, 0.02, "8.5 times"), (0.0, 2.0, "0.0 times")]
)
def test_what_is_said_of_a_busy_machine_holds_for_both_sides(good, bad, said):
    # GIVEN a side whose threads waited for a CPU for less time than they used one
    sentence = busy_machine(good, bad, judged_by_clock=False)
    # THEN nobody says that they waited longer
    assert f"threads waited for a CPU {said} as long as they used one in the good runs" in sentence
    assert "longer" not in sentence


def test_of_a_busy_machine_nothing_is_said_that_the_symptom_contradicts():
    def side(tail_s):
        queued = thread("server", 40.0, 3.0, 30.0, main=True)
        return runs(STACKS, wall_s=40.0, thread_times=(queued,), latency=requests(5e-4, tail_s))

    by_latency, by_cpu = diagnose(side(9e-4), side(81e-3)), diagnose(side(9e-4), side(9e-4))
    assert by_latency.symptom.measure == "latency_p99_s" and "Elapsed time and latency contain" in by_latency.machine
    assert by_cpu.symptom.measure == "cpu_s" and "Judged by CPU time" in by_cpu.machine


@pytest.mark.parametrize(
    ("trace", "so"),
    [(None, ": they wait."), (TraceSummary("perf.data", "program", 99.0), ": samples alone do not show which.")],
    ids=["ours", "another tool's"],
)
def test_samples_of_another_tool_do_not_tell_waiting_from_the_run_queue(trace, so):
    good, bad = (runs(STACKS, wall_s=wall_s, trace=trace) for wall_s in (4.0, 40.0))
    assert diagnose(good, bad).symptom.sentence.endswith(so)


PERF_DATA = TraceSummary("perf.data", "program", 99.0)


@pytest.mark.parametrize(
    ("times", "wall_s", "measure"), [(9.0, 60.0, "cpu_s"), (9.0, 100.0, "cpu_s"), (1.2, 60.0, "wall_s")]
)
def test_on_a_machine_that_is_always_busy_what_another_tool_saw_compute_more_does_not_wait(times, wall_s, measure):
    # GIVEN good runs that took twice their CPU time of 3 s, and bad ones that need so many times as much
    slow = [(words, seconds * times) for words, seconds in STACKS]
    verdict = diagnose(runs(STACKS, wall_s=6.0, trace=PERF_DATA), runs(slow, wall_s=wall_s, trace=PERF_DATA))
    assert verdict.symptom.measure == measure


def test_the_next_command_of_another_tools_samples_may_lack_redirections():
    def noted(**more):
        good, bad = (runs(STACKS, wall_s=wall_s, **more) for wall_s in (4.0, 40.0))
        verdict = diagnose(good, bad)
        assert verdict.next_command is not None and verdict.next_command.startswith("whyperf compare")
        return any("add `< FILE`" in note for note in verdict.notes)

    assert noted(trace=PERF_DATA)
    assert not noted(trace=PERF_DATA, options=RunOptions())
    assert not noted(trace=TraceSummary("bpf", "tree", 99.0))
    assert not noted()


@pytest.mark.parametrize("clock", ["cpu", "wall"])
@pytest.mark.parametrize("queued", [0.6, 8.0], ids=["a-little-busy", "busy"])
def test_time_in_the_run_queue_is_neither_cpu_time_nor_a_wait(queued, clock):
    # GIVEN a thread that computes for 0.6 s more and sleeps for 1 s more, and queues for longer meanwhile
    def side(stacks, run_s, asleep_s, queued_s):
        wall_s = run_s + asleep_s + queued_s
        main = thread("tool", wall_s, run_s, queued_s, main=True, clock_nanosleep=asleep_s)
        waits = {"blocked": [(("main", "libc:pthread_join", "libc:futex"), asleep_s)], "clock": clock}
        return runs(stacks, wall_s=wall_s, cpu_wait_s=queued_s, main_cpu_wait_s=queued_s, thread_times=(main,), **waits)

    busier = [(words, seconds * 1.2) for words, seconds in STACKS]
    verdict = diagnose(side(STACKS, 3.0, 0.1, 0.1), side(busier, 3.6, 1.1, queued))
    # THEN the sleep is the larger part of what the program itself added, and its queueing is said once
    assert (verdict.symptom.kind, verdict.symptom.measure) == ("wait", "own_s")
    assert not any("without getting a CPU" in note for note in verdict.notes)


def test_a_run_queue_that_was_longer_in_good_runs_is_nobodys_wait():
    # GIVEN good runs that queued for 5 s, and bad ones that wait for a lock, beside a thread that queued for a moment
    def side(locked_s, queued_s, beside_s):
        wall_s = 3.0 + locked_s + queued_s
        threads = (
            thread("tool", wall_s, 3.0, queued_s, main=True, futex=locked_s),
            thread("other", wall_s, 0.5, beside_s),
        )
        return runs(STACKS, wall_s=wall_s, cpu_wait_s=queued_s, main_cpu_wait_s=queued_s, thread_times=threads)

    verdict = diagnose(side(0.1, 5.0, 0.0), side(4.1, 0.1, 0.1))
    assert (verdict.symptom.kind, verdict.symptom.measure) == ("wait", "own_s")
    assert not any("without getting a CPU" in note for note in verdict.notes)


def test_of_a_server_that_is_stopped_the_run_queue_is_taken_off_once_too():
    def side(locked_s, queued_s):
        wall_s = 3.0 + locked_s + queued_s
        worker = thread("worker", wall_s, 3.0, queued_s, futex=locked_s)
        return runs(STACKS, wall_s=wall_s, cpu_wait_s=queued_s, stopped_by="driver", thread_times=(worker,))

    verdict = diagnose(side(0.1, 0.1), side(1.3, 2.0))
    assert (verdict.symptom.kind, verdict.symptom.measure) == ("wait", "own_s")


def test_a_cpu_quota_is_named():
    good = runs(STACKS, wall_s=3.1, main_cpu_wait_s=0.0)
    bad = runs(
        STACKS, wall_s=12.0, cpu_wait_s=8.9, main_cpu_wait_s=8.9, throttled_s=6.0, quota_cpus=0.25,
        thread_times=(thread("tool", 12.0, 3.0, 8.9, main=True),),
    )  # fmt: skip
    verdict = diagnose(good, bad)
    assert (verdict.kind, verdict.symptom.kind, verdict.machine) == (VerdictKind.DIFFERENCE, "external", "")
    assert "CPU quota" in verdict.symptom.sentence and "0.25 CPUs" in verdict.symptom.sentence


def test_every_other_total_that_changed_is_said():
    slow = runs(SLOW, wall_s=7.0, major_faults=50_000)
    verdict = diagnose(runs(STACKS, wall_s=3.0), slow)
    (line,) = (note for note in verdict.notes if note.startswith("Also changed: "))
    assert "major page faults 50,000, was 0" in line
    assert "elapsed time 7.00 s, was 3.00 s" in line
    assert [one.measure for one in verdict.totals] == ["major_faults", "cpu_s", "wall_s"]


def test_small_totals_of_small_units_keep_their_digits():
    change = TotalChange("written_bytes", 120.0, 4_300.0)
    assert sentence([change], "") == "Also changed: bytes written to storage 4.3 kB, was 120 bytes."


@pytest.mark.parametrize("seen_s", [0.0, 0.0138], ids=["never", "once"])
def test_a_sleep_that_few_looks_can_see_is_no_measured_figure(seen_s):
    # GIVEN good runs that sleep for 21 of 26 ms, of which looks saw nothing or a part; and bad ones that sleep for 1 s
    def side(wall_s, asleep_s):
        # whose start, before the window, is in what the kernel counts
        main = thread("waiter", wall_s, 0.004, 0.01, main=True, **({"clock_nanosleep": asleep_s} if asleep_s else {}))
        return runs(STACKS, wall_s=wall_s, thread_times=(main,))

    verdict = diagnose(side(0.0259, seen_s), side(1.01, 1.0))
    # THEN the totals tell what they can be at most
    (total,) = (one for one in verdict.totals if one.measure == "sleep_s")
    assert (total.good, total.good_below, total.bad_below) == (seen_s, pytest.approx(0.0259), None)
    assert "sleeping about 1.00 s, was less than 26 ms" in sentence(verdict.totals, "wall_s")


def test_time_in_calls_is_about_what_looks_saw():
    changes = [TotalChange("lock_wait_s", 0.5, 3.0), TotalChange("sleep_s", 3.0, 0.01, bad_below=0.1612)]
    said = sentence(changes, "")
    assert "waiting for locks and conditions about 3.00 s, was about 500 ms" in said
    assert "sleeping less than 170 ms, was about 3.00 s" in said
    # AND a bound beyond the other figure says nothing
    many = TotalChange("lock_wait_s", 0.1, 3.0, good_below=6.4)
    assert "conditions about 3.00 s, was too little to measure" in sentence([many], "")


def test_a_look_stands_for_as_long_as_the_runner_lets_pass():
    assert LOOK_S == runner._TICK_S


def test_why_the_confidence_is_not_high_is_said():
    few = diagnose(runs(STACKS, [1.0, 1.01]), runs(SLOW, [1.0, 1.01]))
    (suspect,) = few.suspects
    assert (suspect.confidence, suspect.doubt) == ("medium", "only 2 runs of a kind; --runs 3 would raise it")
    assert diagnose(runs(STACKS), runs(SLOW)).suspects[0].doubt == ""
