"""Kernel events: what happened on the machine while it was traced."""

from __future__ import annotations

from enum import IntEnum, IntFlag

import pyarrow as pa

from whyperf.recording.schemas.schema import Column, Table


class EventKind(IntEnum):
    """As in `native/tracer/record.h`, which tells for each what the columns mean."""

    SWITCH = 1
    WAKING = 2
    WAKEUP_NEW = 3
    SYSCALL = 4
    SYSCALL_ENTER = 5
    SAMPLE = 6
    FORK = 7
    EXEC = 8
    EXIT = 9
    RENAME = 10
    SIGNAL = 11
    SIGNAL_DELIVER = 12
    TIMER_START = 13
    TIMER_EXPIRE = 14
    WORK_QUEUE = 15
    WORK_START = 16
    URING_SUBMIT = 17
    URING_COMPLETE = 18
    BLOCK_ISSUE = 19
    BLOCK_COMPLETE = 20
    DATA_READY = 21
    SOCKET_SEND = 22
    SOCKET_RECEIVE = 23
    PAGE_FAULT = 24
    CONTENTION_BEGIN = 25
    CONTENTION_END = 26
    FLAG_ACCESS = 27
    TASK_PUT = 28
    TASK_RUN = 29


class InterruptContext(IntFlag):
    """What had interrupted the current thread when an event happened."""

    HARD_IRQ = 1
    HRTIMER = 2
    TIMER = 4
    NET_SOFTIRQ = 8
    BLOCK_SOFTIRQ = 16
    OTHER_SOFTIRQ = 32


EVENTS = Table(
    "events",
    "What happened in the kernel, in time order. Only recordings made with --trace have any.",
    (
        Column("time", pa.int64(), "CLOCK_MONOTONIC, nanoseconds", rising=True),
        Column("cpu", pa.int16(), ""),
        Column(
            "thread",
            pa.int32(),
            "row of `threads`: the current one, on a switch the one that leaves the CPU; -1: the idle task",
            "threads",
        ),
        Column("kind", pa.uint8(), "`EventKind`"),
        Column("context", pa.uint8(), "`InterruptContext` flags"),
        Column(
            "detail", pa.int32(), "number of the system call (x86-64's, on every machine) or signal; -1 when in none"
        ),
        Column("other", pa.int32(), "the thread woken, started, switched to or signalled; -1: none", "threads"),
        Column("object", pa.uint64(), "what it was about: inode | file type << 48, futex address, kernel object"),
        Column("peer", pa.uint64(), "the other end of a socket, the process of a private futex"),
        Column("argument0", pa.uint64(), "first argument of the system call, also of the one under way at a switch"),
        Column("argument1", pa.uint64(), "second"),
        Column("argument2", pa.uint64(), "third"),
        Column("result", pa.int64(), "what the system call returned; on a switch the state in which the thread left"),
        Column("extra", pa.uint64(), "futex waits: word at the address << 32 | third word, a glibc mutex' owner"),
        Column("stack", pa.int32(), "innermost node in `stacks`, kernel frames innermost; -1: none", "stacks"),
        Column("cut", pa.uint8(), "why its stack lacks its outer end (`CUT_REASONS`); 0: it is whole", absent=0),
    ),
    optional=True,
)
