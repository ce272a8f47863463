"""Sealing what a tracer left: who events are about, what their stacks mean, what damage costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collect.open_recording import FakeBinary, FakeSymbols
from tests.collect.tracer.made_trace import TracedRecording, event, name, records, stack, thread
from whyperf.collect._session import number_distinct, values_at
from whyperf.collect.tracer.facts import FACTS, FollowedProcess, KernelCode
from whyperf.collect.tracer.reading import TracedReading
from whyperf.collect.tracer.traced import (
    RECORD,
    KernelSymbol,
    TracedMapping,
    TracedMappings,
    TracedProcess,
    TracedThread,
)
from whyperf.recording.raw_log import ringrecords as sampled
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Shed, TraceSummary
from whyperf.recording.sealed.reader import Recording
from whyperf.seal import events as events_part

_TOOL = FakeBinary({"main": (0x100, 0x200), "work": (0x200, 0x300)})
_SYMBOLS = FakeSymbols({"/opt/tool": _TOOL})
_READ, _ENTRY = 0xFFFFFFFF81000100, 0xFFFFFFFF81000200
_KERNEL = KernelCode.of({_READ: KernelSymbol("vfs_read"), _ENTRY: KernelSymbol("do_syscall_64")}, 0xFFFFFFFF81000000)
_MAPPED = (TracedMapping(0x5000, 0x6000, 0x5000, "/opt/tool"),)


@pytest.fixture
def made(tmp_path: Path) -> TracedRecording:
    return TracedRecording(tmp_path / "rec")


def sealed(made: TracedRecording) -> Recording:
    made.rec.stop()
    return made.rec.sealed(_SYMBOLS)


def who(recording: Recording, column: str = "thread") -> list[tuple[str, int, str] | None]:
    """Command, thread number and thread's name of every event."""
    threads = recording.table("threads").to_pylist()
    processes = recording.table("processes").to_pylist()

    def told(row: int) -> tuple[str, int, str] | None:
        if row < 0:
            return None
        command = processes[threads[row]["process"]]["command"]
        return " ".join(command), threads[row]["tid"], threads[row]["name"]

    return [
        told(row) for row in recording.table("events").column("thread" if column == "thread" else column).to_pylist()
    ]


def stacks_of(recording: Recording, table: str = "events") -> list[list[str]]:
    names = recording.table("functions").column("name").to_pylist()
    function = recording.table("frames").column("function").to_pylist()
    nodes = recording.table("stacks").to_pylist()

    def path(node: int) -> list[str]:
        if node < 0:
            return []
        row = function[nodes[node]["frame"]]
        return [names[row] if row >= 0 else "?", *path(nodes[node]["parent"])]

    return [path(node) for node in recording.table(table).column("stack").to_pylist()]


def test_events_of_all_cpus_are_in_one_order(made: TracedRecording) -> None:
    made.events(*(event(EventKind.SWITCH, t, 7) for t in (10, 30, 50)), cpu=0)
    made.events(*(event(EventKind.SYSCALL, t, 8) for t in (20, 40)), cpu=1)
    made.events(*(event(EventKind.SWITCH, t, 7) for t in (60, 70)), cpu=0)
    events = sealed(made).table("events")
    assert events.column("time").to_pylist() == [10, 20, 30, 40, 50, 60, 70]
    assert events.column("cpu").to_pylist() == [0, 1, 0, 1, 0, 0, 0]
    assert events.column("detail").to_pylist() == [-1] * 7


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=6)),
        max_size=8,
    )
)
def test_any_parts_are_put_in_the_order_of_time(parts: list[tuple[int, list[tuple[int, bool]]]]) -> None:
    # GIVEN parts of the log, each of one CPU, with records among them that make no sense
    reading, sensible, number = TracedReading(), [], 0
    for cpu, told in parts:
        rows = records(*(event(EventKind.SYSCALL if sense else 0, time, 7, cpu=cpu) for time, sense in told))
        rows["extra"] = np.arange(number, number + len(rows))
        number += len(rows)
        sensible += [
            (time, cpu, int(row["extra"])) for (time, sense), row in zip(told, rows, strict=True) if sense and time
        ]
        reading.add_events(memoryview(rows.tobytes()))

    # WHEN all of it is read
    traced = reading.result()

    # THEN they are in the order of time, those of one CPU at one moment as they came
    found = [] if traced is None else traced.records[["time", "cpu", "extra"]].tolist()
    assert found == sorted(sensible)
    assert (0 if traced is None else traced.damaged_bytes) == (number - len(sensible)) * RECORD.itemsize


def test_many_events_are_written_piece_by_piece(made: TracedRecording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_part, "_EVENTS_AT_ONCE", 3)
    made.events(*(event(EventKind.SYSCALL, t, 7, extra=t) for t in range(1, 9)))
    recording = sealed(made)
    assert recording.table("events").column("extra").to_pylist() == list(range(1, 9))
    assert [len(piece["time"]) for piece in recording.rows("events").pieces(["time"])] == [3, 3, 2]
    assert recording.manifest.tables["events"].rows == 8


def test_kernel_frames_are_innermost_and_named_as_they_were_then(made: TracedRecording) -> None:
    made.fact(_KERNEL, TracedMappings(5, 7, _MAPPED))
    made.stacks(stack(1, [0x5210, 0x5110]), stack(2, [_READ, _ENTRY], flags=1))
    made.events(event(EventKind.SYSCALL, 10, 7, stack=1, kernel_stack=2), event(EventKind.SWITCH, 11, 7, stack=1))
    recording = sealed(made)
    assert stacks_of(recording) == [["vfs_read", "do_syscall_64", "work", "main"], ["work", "main"]]
    kernel = next(row for row in recording.table("modules").to_pylist() if row["origin"] == "kernel")
    assert kernel["name"] == "[kernel]"
    offsets = {row["offset"] for row in recording.table("frames").to_pylist() if row["module"] == kernel["module"]}
    assert offsets == {0x100, 0x1FF}  # of the caller the call, not the return


def test_the_same_addresses_in_two_processes_are_two_programs(made: TracedRecording) -> None:
    made.fact(
        TracedMappings(5, 7, _MAPPED), TracedMappings(5, 8, (TracedMapping(0x5000, 0x6000, 0x4F00, "/opt/tool"),))
    )
    made.stacks(stack(1, [0x5110]))
    made.events(event(EventKind.SYSCALL, 10, 7, stack=1), event(EventKind.SYSCALL, 11, 8, stack=1))
    assert stacks_of(sealed(made)) == [["main"], ["work"]]


def test_fork_exec_and_a_pid_used_again_are_new_processes(made: TracedRecording) -> None:
    made.fact(TracedProcess(5, 7, 1, "sh", "/bin/sh", ("sh", "-c", "x"), "/box"))
    made.events(
        event(EventKind.FORK, 10, 7, other=thread(9), argument=name("sh")),
        event(EventKind.SYSCALL, 11, 9),
        event(EventKind.EXEC, 12, 9, argument=name("tool")),
        event(EventKind.SYSCALL, 13, 9),
        event(EventKind.EXIT, 14, 9),
        event(EventKind.FORK, 20, 7, other=thread(9), argument=name("sh")),
        event(EventKind.SYSCALL, 21, 9),
    )
    made.fact(TracedProcess(13, 9, 7, "tool", "/opt/tool", ("./tool",), "/box"))
    recording = sealed(made)
    rows = recording.table("processes").to_pylist()
    assert [(row["pid"], row["start"], row["origin"], row["executable"]) for row in rows] == [
        (7, 5, "attached", "/bin/sh"),
        (9, 10, "fork", "/bin/sh"),
        (9, 12, "exec", "/opt/tool"),
        (9, 20, "fork", "/bin/sh"),
    ]
    assert {row["cgroup"] for row in rows} == {"/box"}
    assert [told and told[0] for told in who(recording)] == [
        *("sh -c x", "sh -c x"),
        *("./tool", "./tool", "./tool"),  # the exec itself is the new program's first event
        *("sh -c x", "sh -c x"),
    ]


def test_an_orphan_has_what_its_parent_had_mapped(made: TracedRecording) -> None:
    # GIVEN a forked process that /proc is asked about only when its parent is gone
    made.fact(TracedProcess(5, 7, 1, "tool", "/opt/tool", ("tool",)), TracedMappings(6, 7, _MAPPED))
    made.stacks(stack(1, [0x5110]))
    made.events(
        event(EventKind.FORK, 10, 7, other=thread(9), argument=name("tool")),
        event(EventKind.EXIT, 11, 7),
        event(EventKind.SYSCALL, 12, 9, stack=1),
    )
    made.fact(TracedProcess(20, 9, 1, "tool", "/opt/tool", ("tool",)))
    # THEN its stacks have names
    recording = sealed(made)
    assert stacks_of(recording)[-1] == ["main"]
    assert {row["pid"]: row["parent_pid"] for row in recording.table("processes").to_pylist()} == {7: 1, 9: 7}


def test_threads_are_named_as_they_named_themselves_last(made: TracedRecording) -> None:
    made.fact(TracedProcess(5, 7, 1, "tool", "/opt/tool", ("tool",)), TracedThread(7, 70, "reader"))
    made.events(
        event(EventKind.FORK, 10, 7, other=thread(7, 71), argument=name("tool")),
        event(EventKind.RENAME, 11, 7, 71, argument=name("writer")),
        event(EventKind.SWITCH, 12, 7, 71, other=thread(7, 70)),
        event(EventKind.SWITCH, 13, 0, 0, other=thread(7)),
    )
    recording = sealed(made)
    assert who(recording) == [("tool", 7, "tool"), ("tool", 71, "writer"), ("tool", 71, "writer"), None]
    assert who(recording, "other") == [("tool", 71, "writer"), None, ("tool", 70, "reader"), ("tool", 7, "tool")]
    assert recording.table("processes").num_rows == 1


def test_what_was_only_met_is_told_from_what_was_followed(made: TracedRecording) -> None:
    made.fact(TraceSummary("bpf", "tree", 99.0), FollowedProcess(7))
    made.events(
        event(EventKind.EXEC, 10, 7, argument=name("tool")),
        event(EventKind.FORK, 11, 7, other=thread(8), argument=name("tool")),
        event(EventKind.WAKING, 12, 8, other=thread(500)),
        event(EventKind.SWITCH, 13, 8, other=thread(600)),
    )
    rows = sealed(made).table("processes").to_pylist()
    assert {row["pid"]: row["origin"] for row in rows} == {7: "exec", 8: "fork", 500: "met", 600: "beside"}


def test_tracer_and_sampler_mean_the_same_processes_and_threads(tmp_path: Path) -> None:
    """GIVEN a program that samples itself and is traced, WHEN sealed, THEN each of its threads is one row."""
    made = TracedRecording(tmp_path / "rec", sampled=True)
    made.events(
        event(EventKind.FORK, 900, 3, other=thread(7), argument=name("whyperf")),
        event(EventKind.EXEC, 1000, 7, argument=name("tool")),
        event(EventKind.SYSCALL, 1100, 7, stack=1),
        event(EventKind.FORK, 1400, 7, other=thread(7, 71), argument=name("tool")),
        event(EventKind.SYSCALL, 1600, 7, 71, stack=1),
    )
    made.stacks(stack(1, [0x5210, 0x5110]))
    main = made.rec.thread(7, start=1200)
    main.put(sampled.process(1200, 7, 3, ProcessOrigin.EXEC, executable="/opt/tool", arguments=["./tool", "x"]))
    main.put(sampled.module(1210, 0x5000, 0x6000, bias=0x5000, path="/opt/tool"))
    main.put(sampled.sample(1300, [0x5210, 0x5110]))
    second = made.rec.thread(7, 71, start=1500)
    second.put(sampled.sample(1550, [0x5110]))
    made.fact(TracedMappings(1250, 7, _MAPPED), TracedProcess(1260, 7, 3, "tool", "/opt/tool", ("./tool", "x"), "/c"))
    recording = sealed(made)

    processes = recording.table("processes").to_pylist()
    assert [(row["pid"], row["origin"], row["start"]) for row in processes if row["pid"] == 7] == [
        (7, "fork", 900),
        (7, "exec", 1000),
    ]
    events, samples = recording.table("events"), recording.table("samples")
    assert samples.column("time").to_pylist() == [1300, 1550]
    by_thread = dict(zip(samples.column("time").to_pylist(), samples.column("thread").to_pylist(), strict=True))
    at = dict(zip(events.column("time").to_pylist(), events.column("thread").to_pylist(), strict=True))
    assert at[1100] == by_thread[1300]
    assert at[1600] == by_thread[1550]
    assert stacks_of(recording)[2] == ["work", "main"]
    assert events.column("stack").to_pylist()[2] == samples.column("stack").to_pylist()[0]


def test_a_program_whose_exec_was_dropped_keeps_its_names(tmp_path: Path) -> None:
    """GIVEN a traced program and its child, which sample themselves, WHEN the oldest events were dropped, exec and fork
    among them, THEN the later events are still theirs."""
    made = TracedRecording(tmp_path / "rec", sampled=True)
    main = made.rec.thread(7, start=1200)
    main.put(sampled.process(1200, 7, 3, ProcessOrigin.EXEC, executable="/opt/tool", arguments=["./tool", "x"]))
    main.put(sampled.module(1210, 0x5000, 0x6000, bias=0x5000, path="/opt/tool"))
    main.put(sampled.sample(1300, [0x5210, 0x5110]))
    child = made.rec.thread(8, start=1400)
    child.put(sampled.process(1400, 8, 7, ProcessOrigin.FORK, executable="/opt/tool"))
    made.fact(TracedProcess(1260, 7, 3, "tool", "/opt/tool", ("./tool", "x"), "/c"))
    made.stacks(stack(1, [0x5210, 0x5110]))
    made.events(event(EventKind.SYSCALL, 2000, 7, stack=1), event(EventKind.SYSCALL, 2100, 8, stack=1))
    recording = sealed(made)

    processes = recording.table("processes").to_pylist()
    assert [(row["pid"], row["origin"], row["start"]) for row in processes] == [(7, "exec", 1200), (8, "fork", 1400)]
    assert stacks_of(recording) == [["work", "main"], ["work", "main"]]
    assert recording.table("events").column("thread").to_pylist()[0] == recording.column("samples", "thread")[0]


def test_a_later_program_is_another_one_though_its_exec_was_dropped(tmp_path: Path) -> None:
    """GIVEN a program that became one without a sampler, WHEN the exec was dropped, THEN /proc tells them apart."""
    made = TracedRecording(tmp_path / "rec", sampled=True)
    main = made.rec.thread(7, start=1200)
    main.put(sampled.process(1200, 7, 3, ProcessOrigin.EXEC, executable="/opt/tool", arguments=["./tool", "x"]))
    main.put(sampled.module(1210, 0x5000, 0x6000, bias=0x5000, path="/opt/tool"))
    made.fact(TracedProcess(1500, 7, 3, "static", "/opt/static", ("./static",)))
    made.stacks(stack(1, [0x5210, 0x5110]))
    made.events(event(EventKind.SYSCALL, 2000, 7, stack=1))
    recording = sealed(made)
    assert who(recording) == [("./static", 7, "static")]
    assert stacks_of(recording) == [["?", "?"]]


def test_without_a_sampler_the_tracers_samples_are_the_samples(made: TracedRecording) -> None:
    made.fact(TracedMappings(5, 7, _MAPPED))
    made.stacks(stack(1, [0x5210, 0x5110]))
    period = (10_101_010, 0, 0)
    made.events(
        event(EventKind.SAMPLE, 10, 7, stack=1, argument=period),
        event(EventKind.SAMPLE, 11, 0, 0, argument=period),
        event(EventKind.SYSCALL, 12, 7),
    )
    recording = sealed(made)
    assert recording.table("samples").column("weight").to_pylist() == [10_101_010]
    assert stacks_of(recording, "samples") == [["work", "main"]]


def test_the_manifest_tells_what_was_shed_lost_and_absent(made: TracedRecording) -> None:
    made.fact(TraceSummary("bpf", "all", 99.0))
    made.fact(
        TraceSummary("bpf", "all", 99.0, {"data_ready": "Linux before 6.3"}, (Shed("system-call stacks", 3, 9),), 12, 3)
    )
    made.stacks(stack(1, [0x5210], flags=2 << 8))
    made.events(event(EventKind.SYSCALL, 10, 7, stack=1), event(EventKind.SYSCALL, 11, 7, stack=99))
    recording = sealed(made)
    assert recording.table("events").column("cut").to_pylist() == [2, 0]
    trace = recording.manifest.trace
    assert trace is not None
    assert (trace.absent, trace.events_lost, trace.runs_missed) == ({"data_ready": "Linux before 6.3"}, 12, 3)
    assert trace.shed == (Shed("system-call stacks", 3, 9),)
    assert trace.stacks_lost == 1
    assert trace.stacks_cut == {"no unwind information for the address": 1}


def test_damage_costs_what_it_hit_and_is_counted(made: TracedRecording) -> None:
    # GIVEN a truncated record, one of an unknown kind, one before the machine started, two with numbers that no process
    # has, and a stack cut short
    made.events(event(EventKind.SYSCALL, 10, 7, stack=1), event(EventKind.SYSCALL, 0, 7))
    made.events({"kind": 200, "time": 5, "pid": 1, "tid": 1})
    made.events(event(EventKind.SYSCALL, 11, (1 << 32) - 1), event(EventKind.FORK, 12, 7, other=thread((1 << 32) - 1)))
    made.rec.log.append(ChunkKind.EVENTS, b"\1" * 50)
    made.stacks(stack(1, [0x5110])[:-4])
    with (made.rec.raw / FACTS).open("ab") as file:
        file.write(b"garbage")
    made.rec.log.append_json({"type": "traced-mappings", "time": "x", "pid": 7, "rows": 3})
    made.rec.log.append_json({"type": "kernel-symbols", "names": {"zz": "f"}, "modules": {}})
    # WHEN it is sealed
    recording = sealed(made)
    # THEN the sound event is there, and the rest is counted
    assert recording.table("events").column("time").to_pylist() == [10]
    assert recording.manifest.losses.damaged_bytes == 4 * 96 + 50 + 12 + 7
    assert recording.manifest.trace is not None
    assert recording.manifest.trace.stacks_lost == 1


def test_nothing_traced_is_no_traced_recording(tmp_path: Path) -> None:
    made = TracedRecording(tmp_path / "rec", sampled=True)
    recording = sealed(made)
    assert recording.manifest.trace is None
    assert "events" not in recording.manifest.tables


@settings(deadline=None)
@given(st.lists(st.integers(0, 6), max_size=60))
def test_equal_keys_have_one_number(keys: list[int]) -> None:
    numbers, firsts = number_distinct(np.array(keys, np.uint64))
    found = np.frombuffer(numbers, np.int32).tolist()
    distinct = list(dict.fromkeys(keys))
    assert found == [distinct.index(key) for key in keys]
    assert np.frombuffer(firsts, np.int64).tolist() == [keys.index(key) for key in distinct]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 3)), max_size=40),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 9)), max_size=20),
)
def test_a_keys_value_is_that_of_its_last_change(
    asked: list[tuple[int, int]], changes: list[tuple[int, int, int]]
) -> None:
    asked.sort(key=lambda row: row[0])
    changes.sort(key=lambda row: row[0])
    before = [90, 91, 92, 93]
    expected = [
        next((value for t, k, value in reversed(changes) if k == key and t <= time), before[key]) if key >= 0 else -1
        for time, key in asked
    ]
    events = np.array(asked, np.int64).reshape(-1, 2).T
    at = np.array(changes, np.int64).reshape(-1, 3).T
    columns = (events[0], events[1].astype(np.int32), at[0], at[1].astype(np.int32), at[2].astype(np.int32))
    found = values_at(*(np.ascontiguousarray(c) for c in columns), np.array(before, np.int32))
    assert np.frombuffer(found, np.int32).tolist() == expected
    with pytest.raises(ValueError, match="key"):
        values_at(
            *(np.array([1], d) for d in (np.int64, np.int32)), *(np.zeros(0, np.int64),) * 3, np.zeros(0, np.int32)
        )


def test_what_does_not_sample_itself_is_sampled_by_the_tracer(tmp_path: Path) -> None:
    """GIVEN a program that samples itself and starts one that cannot, WHEN sealed, THEN both are in `samples`."""
    made = TracedRecording(tmp_path / "rec", sampled=True)
    period = (10_000_000, 0, 0)
    made.fact(TraceSummary("bpf", "tree", 99.0), FollowedProcess(7))
    made.events(
        event(EventKind.EXEC, 1000, 7, argument=name("tool")),
        event(EventKind.SAMPLE, 1250, 7, argument=period),  # the sampler's business
        event(EventKind.FORK, 1300, 7, other=thread(8), argument=name("tool")),
        event(EventKind.EXEC, 1400, 8, argument=name("static")),
        event(EventKind.SAMPLE, 1500, 8, argument=period),
        event(EventKind.WAKING, 1550, 8, other=thread(500)),
        event(EventKind.SAMPLE, 1560, 500, argument=period),  # only met
    )
    main = made.rec.thread(7, start=1100)
    main.put(sampled.process(1100, 7, 3, ProcessOrigin.EXEC, executable="/opt/tool", arguments=["./tool"]))
    main.put(sampled.sample(1200, [0x5210]))
    main.put(sampled.sample(1700, [0x5210]))
    recording = sealed(made)
    processes = recording.table("processes").column("pid").to_pylist()
    samples = recording.table("samples").to_pylist()
    assert [(row["time"], processes[row["process"]]) for row in samples] == [(1200, 7), (1500, 8), (1700, 7)]
