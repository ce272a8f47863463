"""What is waited for is told by the system call, and where that says too little by what it is about."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engines.contexts.traced import FILE, PIPE, SOCKET
from whyperf.engines.contexts.records import WAIT
from whyperf.engines.kernel.wait_kinds import WaitKind, kinds_of, ready_for_anything, woken_by_thread
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import InterruptContext


def wait(**fields):
    rows = np.zeros(1, WAIT)
    rows["state"], rows["call"], rows["waker"], rows["wake_call"] = 1, -1, -1, -1
    for name, value in fields.items():
        rows[name] = value
    return rows


@pytest.mark.parametrize(
    ("call", "about", "kind"),
    [
        ("clock_nanosleep", 0, WaitKind.SLEEP),
        ("futex", 0, WaitKind.FUTEX),
        ("read", PIPE | 77, WaitKind.PIPE),
        ("read", SOCKET | 77, WaitKind.SOCKET),
        ("read", FILE | 77, WaitKind.DISK),
        ("write", 0x2 << 60, WaitKind.DEVICE),
        ("read", 0, WaitKind.OTHER),
        ("recvfrom", 0, WaitKind.SOCKET),
        ("poll", 0, WaitKind.EVENTS),
        ("poll", SOCKET | 77, WaitKind.SOCKET),
        ("wait4", 0, WaitKind.CHILD),
        ("fsync", 0, WaitKind.DISK),
        ("flock", 0, WaitKind.FILE_LOCK),
        ("getpid", 0, WaitKind.OTHER),
    ],
)
def test_kinds(call, about, kind):
    assert WaitKind(int(kinds_of(wait(call=NUMBERS[call], object=about))[0])) is kind


def test_outside_of_system_calls_only_memory_is_waited_for():
    assert kinds_of(wait(state=2))[0] == WaitKind.PAGE_FAULT
    assert kinds_of(wait(state=0x402))[0] == WaitKind.OTHER  # an idle kernel thread
    assert kinds_of(wait(state=0))[0] == WaitKind.NONE


@pytest.mark.parametrize(
    ("context", "call", "by_thread"),
    [
        (0, "futex", True),
        (0, "write", True),
        (InterruptContext.HARD_IRQ, "futex", False),
        (InterruptContext.HARD_IRQ | InterruptContext.HRTIMER, "futex", False),
        (InterruptContext.BLOCK_SOFTIRQ, "read", False),
        (InterruptContext.NET_SOFTIRQ, "sendto", True),  # loopback
        (InterruptContext.NET_SOFTIRQ, "futex", False),  # somebody else's packet
    ],
)
def test_interrupts_come_to_whoever_runs(context, call, by_thread):
    assert bool(woken_by_thread(wait(waker=3, wake_context=context, wake_call=NUMBERS[call]))[0]) is by_thread


def test_nobody_woke_a_thread_that_has_no_waker():
    assert not woken_by_thread(wait())[0]


@pytest.mark.parametrize(
    ("call", "operation", "ready"),
    [
        ("epoll_wait", 0, True),
        ("futex", 9 | 128 | 256, True),  # FUTEX_WAIT_BITSET: a condition
        ("futex", 0 | 128, False),  # FUTEX_WAIT: a lock
        ("clock_nanosleep", 9, False),
        ("read", 0, False),
    ],
)
def test_what_serves_whatever_comes_next(call, operation, ready):
    assert bool(ready_for_anything(wait(call=NUMBERS[call], argument1=operation))[0]) is ready
