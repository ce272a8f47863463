"""Tracepoints as the records that our own tracer would have made."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers import made
from tests.shared_cache import SHARED_CACHE
from whyperf.collect.tracer.traced import RECORD, Records
from whyperf.importers.perf_data.importing import longest_wait_for_a_cpu_s, trace_of, traced_of
from whyperf.importers.perf_data.layout import Feature
from whyperf.importers.perf_data.reading import PerfData, read_perf_data
from whyperf.importers.perf_data.system_calls import fill_system_calls
from whyperf.recording.schemas.events import EventKind

COMMON = [("unsigned short common_type", 0, 2, 0), ("int common_pid", 4, 4, 1)]
TRACEPOINT = made.PLAIN | 1 << 16 | 1 << 10
FUTEX, READ, PRIVATE_WAIT = 202, 0, 128


def tracepoint(number: int, identity: int, name: str) -> made.Event:
    return made.Event(TRACEPOINT, 2, number, 1, by_frequency=False, identity=identity, name=name)


SWITCH = tracepoint(1, 11, "sched:sched_switch")
ENTER = tracepoint(2, 12, "raw_syscalls:sys_enter")
EXIT = tracepoint(3, 13, "raw_syscalls:sys_exit")
OTHER = tracepoint(4, 14, "kvm:kvm_exit")
OPENED = tracepoint(5, 15, "syscalls:sys_enter_openat")
FORMATS = {
    "sched:sched_switch": made.format_file(
        "sched_switch",
        1,
        [*COMMON, ("pid_t prev_pid", 8, 4, 1), ("long prev_state", 16, 8, 1), ("pid_t next_pid", 24, 4, 1)],
    ),
    "raw_syscalls:sys_enter": made.format_file(
        "sys_enter", 2, [*COMMON, ("long id", 8, 8, 1), ("unsigned long args[6]", 16, 48, 0)]
    ),
    "raw_syscalls:sys_exit": made.format_file("sys_exit", 3, [*COMMON, ("long id", 8, 8, 1), ("long ret", 16, 8, 1)]),
    "kvm:kvm_exit": made.format_file("kvm_exit", 4, COMMON),
    "syscalls:sys_enter_openat": made.format_file(
        "sys_enter_openat",
        5,
        [*COMMON, ("int __syscall_nr", 8, 4, 1), ("int dfd", 16, 8, 0), ("const char * filename", 24, 8, 0)],
    ),
}


def switch(time: int, tid: int, state: int, to: int) -> bytes:
    return made.raw_sample(SWITCH, time, struct.pack("<HxxiixxxxqI", 1, tid, tid, state, to), pid=10, tid=tid)


def enter(time: int, tid: int, number: int, *arguments: int) -> bytes:
    raw = struct.pack("<Hxxiq6Q", 2, tid, number, *arguments, *[0] * (6 - len(arguments)))
    return made.raw_sample(ENTER, time, raw, pid=10, tid=tid)


def leave(time: int, tid: int, number: int, result: int) -> bytes:
    return made.raw_sample(EXIT, time, struct.pack("<Hxxiqq", 3, tid, number, result), pid=10, tid=tid)


@pytest.fixture
def read_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", SHARED_CACHE)

    def read(*records: bytes, machine: str = "x86_64") -> PerfData:
        events = [made.Event(), SWITCH, ENTER, EXIT, OTHER, OPENED]
        features = {Feature.TRACING_DATA: made.tracing_data(FORMATS)}
        (tmp_path / "file").write_bytes(made.PerfFile(events, records, features, machine).to_bytes())
        return read_perf_data(tmp_path / "file")

    return read


def records_of(read: PerfData) -> Records:
    return traced_of(read, trace_of(read, "perf.data", "tree")).records


def test_a_wait_in_a_futex_carries_its_system_call(read_file) -> None:
    # GIVEN a thread that waits in a private futex, is woken, and returns
    records = records_of(
        read_file(
            made.fork(made.Event(), 50, 10, 11, 10, 10),
            enter(100, 11, FUTEX, 0x7F00, PRIVATE_WAIT, 2),
            switch(110, 11, 1, 10),
            leave(200, 11, FUTEX, 0),
            switch(210, 11, 0x100, 0),
        )
    )

    # THEN the switch and the end of the call name the futex; a preempted thread leaves runnable, to the idle task
    fork, entered, left, returned, preempted = records
    assert [int(one["kind"]) for one in records] == [
        EventKind.FORK,
        EventKind.SYSCALL_ENTER,
        EventKind.SWITCH,
        EventKind.SYSCALL,
        EventKind.SWITCH,
    ]
    for one in (left, returned):
        assert (one["detail"], one["object"], one["peer"]) == (FUTEX, 0x7F00, 10)
        assert one["argument"].tolist() == [0x7F00, PRIVATE_WAIT, 2]
    assert left["result"] == 1 and left["other"] == 10 << 32 | 10
    assert (preempted["result"], preempted["detail"], preempted["other"]) == (0, -1, 0)
    assert entered["detail"] == FUTEX and fork["other"] == 10 << 32 | 11


def test_system_calls_of_aarch64_are_recorded_by_the_numbers_of_x86_64(read_file) -> None:
    # GIVEN a file of a machine where futex has another number than in recordings
    futex, unassigned = 98, 300
    records = records_of(
        read_file(
            made.fork(made.Event(), 50, 10, 11, 10, 10),
            enter(100, 11, futex, 0x7F00, PRIVATE_WAIT, 2),
            switch(110, 11, 1, 10),
            leave(200, 11, futex, 0),
            leave(300, 11, unassigned, -38),
            machine="aarch64",
        )
    )

    # THEN the call and the wait in it are known as a futex, and a number that no call has is none
    _, entered, left, returned, unknown = records
    assert [int(one["detail"]) for one in (entered, left, returned, unknown)] == [FUTEX, FUTEX, FUTEX, -1]
    assert (left["object"], left["peer"]) == (0x7F00, 10)


def test_single_system_calls_tell_their_arguments(read_file) -> None:
    raw = struct.pack("<HxxiixxxxQQ", 5, 10, 257, 7, 0x1234)
    (record,) = records_of(read_file(made.raw_sample(OPENED, 100, raw, pid=10, tid=10)))

    assert (record["kind"], record["detail"]) == (EventKind.SYSCALL_ENTER, 257)
    assert record["argument"].tolist() == [7, 0x1234, 0]


def test_a_thread_that_has_all_but_ended_is_known_by_its_tracepoint(read_file) -> None:
    # GIVEN a switch of which perf could not tell the thread any more
    nobody = (1 << 32) - 1
    raw = struct.pack("<HxxiixxxxqI", 1, 11, 11, 0x10, 10)
    gone = made.raw_sample(SWITCH, 100, raw, pid=nobody, tid=nobody)

    read = read_file(made.fork(made.Event(), 50, 10, 11, 10, 10), gone, made.plain_sample(made.Event(), 60, pid=nobody))

    record = records_of(read)[-1]
    assert (record["pid"], record["tid"]) == (10, 11)
    assert read.nameless == 1


def test_events_without_use_are_counted_by_name(read_file) -> None:
    read = read_file(
        *(made.raw_sample(OTHER, t, bytes(16)) for t in range(100, 105)), made.plain_sample(made.Event(), 200)
    )

    assert read.events.passed_over == {"kvm:kvm_exit": 5}
    assert [int(one["kind"]) for one in records_of(read)] == [EventKind.SAMPLE]


def test_raw_data_too_short_for_a_field_reads_as_zero(read_file) -> None:
    (record,) = records_of(read_file(made.raw_sample(SWITCH, 100, struct.pack("<Hxxi", 1, 10), pid=10, tid=10)))

    assert (record["other"], record["result"]) == (0, 0)


def test_a_preempted_thread_waits_until_it_is_seen_again(read_file) -> None:
    # GIVEN a thread that sleeps for a while, and is preempted twice
    records = records_of(
        read_file(
            switch(1_000_000_000, 10, 1, 0),
            switch(2_000_000_000, 10, 0x100, 0),
            enter(2_300_000_000, 10, READ, 3),
            switch(2_400_000_000, 10, 0, 0),
            leave(2_600_000_000, 10, READ, 0),
        )
    )

    # THEN only the latter counts as waiting for a CPU
    assert longest_wait_for_a_cpu_s(records) == pytest.approx(0.5)


STEPS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from((EventKind.SYSCALL_ENTER, EventKind.SYSCALL, EventKind.SWITCH, EventKind.SAMPLE)),
        st.integers(0, 2),
    ),
    max_size=40,
)


@given(STEPS)
def test_system_calls_under_way_are_those_of_a_walk_through_time(steps: list[tuple[int, EventKind, int]]) -> None:
    # GIVEN any sequence of events of three threads
    records = np.zeros(len(steps), RECORD)
    for row, (tid, kind, number) in enumerate(steps):
        known = kind in (EventKind.SYSCALL_ENTER, EventKind.SYSCALL)
        records[row]["tid"], records[row]["kind"] = tid, kind
        records[row]["detail"] = number if known else -1
        if kind == EventKind.SYSCALL_ENTER:
            records[row]["argument"] = (row, 0, 0)

    # WHEN a walk tells for each in which call its thread was
    inside: dict[int, tuple[int, int]] = {}
    expected = []
    for row, (tid, kind, number) in enumerate(steps):
        call = inside.get(tid)
        if kind == EventKind.SYSCALL_ENTER:
            inside[tid] = (number, row)
            expected.append((number, row))
        elif kind == EventKind.SYSCALL:
            inside.pop(tid, None)
            expected.append((number, call[1] if call and call[0] == number else 0))
        elif kind == EventKind.SAMPLE:
            expected.append((call[0] if call else -1, 0))
        else:
            expected.append(call or (-1, 0))

    # THEN columns computed at once say the same
    fill_system_calls(records)
    assert [(int(one["detail"]), int(one["argument"][0])) for one in records] == expected
