"""What was used within a window, of amounts that were counted since a program's start."""

from __future__ import annotations

import pytest

from whyperf.collect.usage.totals import LongestWaits, Usage

BEFORE = Usage(cpu_waits={(1, 1): 5.0, (1, 2): 1.0})
AFTER = Usage(cpu_waits={(1, 1): 5.5, (1, 2): 4.0, (9, 9): 2.0})


@pytest.mark.parametrize(
    ("start", "seen_wait_s", "longest"),
    [
        (Usage(), 0.0, 5.5),
        (BEFORE, 0.0, 3.0),  # not of the thread that had waited longest before
        (BEFORE, 3.5, 3.5),  # of one that has ended
        (AFTER, 0.0, 0.0),
    ],
)
def test_the_wait_for_a_cpu_is_the_longest_of_one_thread_within_the_window(
    start: Usage, seen_wait_s: float, longest: float
) -> None:
    assert AFTER.since(start, 10.0, seen=LongestWaits(of_any_s=seen_wait_s)).cpu_wait_s == longest


def test_the_wait_of_main_threads_is_kept_apart():
    # GIVEN a background thread that waited for 3 s and main threads that waited for 0.5 s and 2 s
    totals = AFTER.since(BEFORE, 10.0)
    assert (totals.cpu_wait_s, totals.main_cpu_wait_s) == (3.0, 2.0)
    # AND a main thread that was last seen with more
    assert AFTER.since(BEFORE, 10.0, seen=LongestWaits(of_main_s=2.5)).main_cpu_wait_s == 2.5


def test_processes_keep_their_threads_when_added_up() -> None:
    both = Usage(cpu_waits={(1, 1): 5.0}) + Usage(cpu_waits={(2, 2): 7.0})
    assert both.since(Usage(cpu_waits={(2, 2): 6.0}), 10.0).cpu_wait_s == 5.0


def test_a_thread_that_went_is_never_a_negative_wait() -> None:
    assert Usage().since(BEFORE, 10.0).cpu_wait_s == 0.0
    assert Usage(cpu_waits={(1, 1): 1.0}).since(BEFORE, 10.0).cpu_wait_s == 0.0
