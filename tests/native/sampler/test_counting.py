"""Weights add up to the CPU time that was used, fairly between threads, and everything lost is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.sampler.conftest import Outcome
from tests.native.sampler.test_stacks import SPIN

Compile = Callable[..., Path]
Run = Callable[..., Outcome]

CPU_SECONDS = """
#include <time.h>
static double cpu(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
"""


@pytest.mark.parametrize(("rate_hz", "perf_events"), [(100, False), (200, False), (1000, False), (1000, True)])
def test_weights_add_up_to_cpu_time(compiled: Compile, sampled: Run, rate_hz: int, perf_events: bool) -> None:
    binary = compiled(
        SPIN + CPU_SECONDS + 'int main(void) { outer(300); printf("%f", cpu(CLOCK_PROCESS_CPUTIME_ID)); return 0; }'
    )
    outcome = sampled(binary, rate_hz=rate_hz, perf_events=perf_events)
    assert outcome.counters["weight"] / rate_hz == pytest.approx(float(outcome.output), rel=0.1, abs=0.03)


def test_threads_are_weighed_fairly(compiled: Compile, sampled: Run) -> None:
    # GIVEN two threads, one with three times the work of the other, that say what CPU time each of them used
    binary = compiled(
        SPIN
        + CPU_SECONDS
        + """
static void *body(void *n) { outer((long)n); printf("%f ", cpu(CLOCK_THREAD_CPUTIME_ID)); return NULL; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, body, (void *)100);
    pthread_create(&b, NULL, body, (void *)300);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}"""
    )
    # WHEN they are sampled
    outcome = sampled(binary, rate_hz=500, perf_events=False)
    weights: Counter[int] = Counter()
    for _, thread, weight, _ in outcome.samples:
        weights[thread] += weight
    # THEN each weighs what it used (not what it was given to do: another guest may slow one core more than the other)
    light, heavy = sorted(weights.values())[-2:]
    used_light, used_heavy = sorted(map(float, outcome.output.split()))
    assert heavy / light == pytest.approx(used_heavy / used_light, rel=0.15)


def test_threads_shorter_than_a_period_are_not_missed(compiled: Compile, sampled: Run) -> None:
    # GIVEN a thousand threads, each a small part of the 5 ms between samples
    binary = compiled(
        SPIN
        + CPU_SECONDS
        + """
static double used;
static void *body(void *unused) { outer(1); used += cpu(CLOCK_THREAD_CPUTIME_ID); return unused; }
int main(void) {
    for (int i = 0; i < 600; i++) { pthread_t t; pthread_create(&t, NULL, body, NULL); pthread_join(t, NULL); }
    printf("%f", used);
    return 0;
}"""
    )
    # WHEN they are sampled at 200 Hz
    outcome = sampled(binary, rate_hz=200, perf_events=False)
    # THEN about what they used is seen: a seventh of it if timers were left to the kernel's tick; beside a load of 8
    # about half, as threads then last as long as a tick
    seen = sum(weight for pid, tid, weight, _ in outcome.samples if tid != pid) / 200
    assert 0.3 < seen / float(outcome.output) < 1.7


def test_full_ring_drops_and_counts(compiled: Compile, sampled: Run) -> None:
    binary = compiled(
        SPIN
        + """
NOINLINE static long down(long depth) { if (!depth) outer(200); else down(depth - 1); sink += 1; return depth; }
int main(void) { down(900); puts("done"); return 0; }"""
    )
    # Nobody drains: a ring of 64 KiB holds a few such stacks.
    outcome = sampled(binary, drain=False)
    assert outcome.output == "done\n"
    assert 0 < outcome.counters["samples"] < 20
    assert outcome.counters["dropped"] > outcome.counters["samples"]
    assert outcome.counters["records_lost"] == 0


def test_nothing_is_written_to_a_stranger_s_file(compiled: Compile, tmp_path: Path) -> None:
    import os
    import subprocess

    from whyperf.collect.sampling.sampler import LIBRARY

    stranger = tmp_path / "rings"
    stranger.write_bytes(b"not rings" * 1000)
    binary = compiled(SPIN + 'int main(void) { outer(20); puts("fine"); return 0; }')
    for session in (stranger, tmp_path / "absent", tmp_path):
        environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "WHYPERF_SESSION": str(session)}
        done = subprocess.run([binary], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    assert stranger.read_bytes() == b"not rings" * 1000


STOPPED = """
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) static int deep(int depth) {
    if (depth)
        return deep(depth - 1) + 1;
    while (used() < 0.5)
        for (volatile int i = 0; i < 10000; i++)
            ;
    return 0;
}
int main(void) {
    pid_t whole = getpid(), child = fork();
    while (child == 0) {
        usleep(2000);
        kill(whole, SIGSTOP);
        usleep(20000);
        kill(whole, SIGCONT);
    }
    int frames = deep(200);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    printf("%d %f", frames, used());
    return 0;
}
"""


def test_handlers_are_not_charged_with_what_others_do_meanwhile(compiled: Compile, sampled: Run) -> None:
    """A stop in the middle of a handler is as long as being preempted on a busy machine."""
    seen = sampled(compiled(STOPPED, "-fno-optimize-sibling-calls"), rate_hz=5000)
    assert seen.status == 0
    cpu_ns = float(seen.output.split()[1]) * 1e9
    assert 0 < seen.counters["handler_ns"] < cpu_ns / 8
    assert seen.counters["handler_ns_max"] < 20e6
