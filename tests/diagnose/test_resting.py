"""Threads that rest are no suspects; the holder of a lock is."""

from __future__ import annotations

import pytest

from tests.diagnose.test_diagnosis import STACKS, runs
from whyperf.diagnose.diagnosis import diagnose
from whyperf.diagnose.verdict import VerdictKind

ACCEPT = ("main", "listen", "libc:accept")
LOCK = ("worker", "serve", "libc:___pthread_mutex_lock", "libc:futex")
SYNC = ("worker", "serve", "write_journal", "libc:fdatasync")
POLLER = ("poller", "watch", "libc:clock_nanosleep")
REST = ("worker", "take", "libc:pthread_cond_wait", "libc:futex")


def waiting(wall_s, *blocked, stopped_by="driver", threads=4):
    return runs(STACKS, blocked=blocked, clock="wall", wall_s=wall_s, threads=threads, stopped_by=stopped_by)


def names(verdict):
    return [suspect.function for suspect in verdict.suspects]


def test_an_idle_accept_is_no_suspect():
    # GIVEN a server that waits in accept() all along, and syncs a file for longer
    good = waiting(4.0, (ACCEPT, 4.0), (SYNC, 0.1))
    verdict = diagnose(good, waiting(12.0, (ACCEPT, 12.0), (SYNC, 8.0)))
    assert names(verdict)[0] in ("write_journal", "serve")
    assert "listen" not in names(verdict)


@pytest.mark.parametrize("rest", [POLLER, REST], ids=["timer", "work-queue"])
def test_who_rests_as_long_as_the_run_lasts_is_no_suspect(rest):
    good = waiting(4.0, (rest, 4.0), (SYNC, 0.1))
    verdict = diagnose(good, waiting(12.0, (rest, 12.0), (SYNC, 8.0)))
    assert names(verdict)[0] in ("write_journal", "serve")
    assert not {"watch", "take"} & set(names(verdict))


def test_an_idle_server_that_took_longer_has_no_suspect():
    # GIVEN nothing but rest, for as long as the window lasts
    verdict = diagnose(
        waiting(4.0, (ACCEPT, 4.0), (POLLER, 4.0), (REST, 8.0)),
        waiting(12.0, (ACCEPT, 12.0), (POLLER, 12.0), (REST, 24.0)),
    )
    assert verdict.suspects == ()


def test_a_sleep_that_takes_more_of_the_time_is_a_suspect():
    verdict = diagnose(waiting(4.0, (POLLER, 0.2)), waiting(12.0, (POLLER, 8.0)))
    assert (verdict.kind, names(verdict)[0]) == (VerdictKind.DIFFERENCE, "watch")


def test_the_main_thread_of_a_program_that_ends_never_rests():
    # GIVEN a program that does nothing but wait, in both runs, for longer
    poll = ("main", "fetch", "libc:poll")
    good, bad = (waiting(3.0 + one, (poll, one), stopped_by="exit", threads=1) for one in (4.0, 12.0))
    assert names(diagnose(good, bad)) == ["fetch"]
