"""Sealing: who ran, where, and under which names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.collect import ring_producer
from tests.collect.open_recording import FakeBinary, FakeSymbols, OpenRecording, paths
from tests.collect.ring_producer import Thread
from whyperf.collect._session import Drainer
from whyperf.debuginfo.control_flow.tail_jumps import Calls, Jumps
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
from whyperf.seal.opening import seal

TOOL = FakeBinary({"main": (0x100, 0x140), "work": (0x140, 0x180)})
LIBRARY = FakeBinary({"qsort": (0x100, 0x200)}, debug="symbols", file="")
SYMBOLS = FakeSymbols({"/bin/tool": TOOL, "/usr/lib/libc.so.6": LIBRARY})


@pytest.fixture
def rec(tmp_path: Path) -> OpenRecording:
    return OpenRecording(tmp_path / "rec")


def introduce(rec: OpenRecording, pid: int, time: int = 110, base: int = 0x10000) -> Thread:
    """A thread of a new process that has mapped the tool at `base`."""
    thread = rec.thread(pid, start=time)
    thread.put(records.process(time, pid, 1, ProcessOrigin.EXEC, executable="/bin/tool", arguments=["tool", "-v"]))
    thread.put(records.module(time, base, base + 0x1000, bias=base, path="/bin/tool", build_id="abcd"))
    return thread


def test_progress_is_told_before_debug_information_is_read(rec: OpenRecording) -> None:
    said: list[str] = []

    class Slow(FakeSymbols):
        def tail_jumps(self, files: object, calls: Calls, reached_by_name: object) -> list[Jumps]:
            assert said[-1] == "reading debug information"
            return super().tail_jumps(files, calls, reached_by_name)

    introduce(rec, 7).put(records.sample(200, [0x10110]))
    rec.stop()
    seal(rec.path, progress=lambda what, _: said.append(what), symbols=Slow({"/bin/tool": TOOL}))
    assert said[-1] == "sealed"


def test_names_stacks_and_weights(rec: OpenRecording) -> None:
    # GIVEN a leaf in libc called from the very last instruction of main, so that the return address is work's first
    thread = introduce(rec, 7)
    thread.put(records.module(111, 0x90000, 0x91000, bias=0x8FF00, path="/usr/lib/libc.so.6"))
    thread.put(records.sample(200, [0x90010, 0x10140], weight=3))
    rec.stop()
    # WHEN it is sealed
    recording = rec.sealed(SYMBOLS)
    # THEN the caller is main
    assert paths(recording) == [("qsort", "main")]
    assert recording.table("samples").to_pylist() == [
        {"time": 200, "process": 0, "thread": 0, "stack": 1, "weight": 15_000_000, "clock": 0, "wait": -1}
    ]
    leaf, caller = (recording.table("frames").to_pylist()[row] for row in (1, 0))
    assert (caller["offset"], caller["line"], caller["block"]) == (0x13F, 0x40, -1)
    assert (leaf["offset"], leaf["block"]) == (0x110, 0x11)
    modules = recording.table("modules").to_pylist()
    assert [(m["name"], m["origin"], m["debug"], m["build_id"]) for m in modules] == [
        ("tool", "program", "full", "abcd"),
        ("libc.so.6", "libc", "symbols", ""),
    ]
    # AND functions that were never seen are listed where the binary is the user's own
    functions = recording.table("functions").to_pylist()
    assert [(f["name"], f["sampled"]) for f in functions] == [("main", True), ("work", False), ("qsort", True)]
    assert recording.table("processes").to_pylist()[0]["command"] == ["tool", "-v"]
    assert not rec.raw.exists()


def test_inlined_functions_are_a_chain(rec: OpenRecording) -> None:
    thread = introduce(rec, 7)
    thread.put(records.sample(200, [0x10150, 0x10120]))
    rec.stop()
    binary = FakeBinary(TOOL.spans, {0x150: ("inner", "outer")})
    recording = rec.sealed(FakeSymbols({"/bin/tool": binary}))
    assert paths(recording) == [("[inner][outer]work", "main")]
    inlined = {f["name"]: f["inlined"] for f in recording.table("functions").to_pylist()}
    assert inlined == {"main": False, "work": False, "inner": True, "outer": True}
    # AND each of them has the line that decides about it
    frames = recording.table("frames").to_pylist()
    decided = {one["frame"]: one["line"] for one in recording.table("decisions").to_pylist()}
    assert decided == {number: frame["line"] + 1000 for number, frame in enumerate(frames)}


def test_the_samplers_own_frames_are_left_out(rec: OpenRecording) -> None:
    thread = introduce(rec, 7)
    thread.put(records.module(111, 0x50000, 0x51000, bias=0x50000, path="/opt/libwhyperf_sampler.so"))
    thread.put(records.sample(200, [0x50010, 0x10150, 0x50020, 0x10120]))
    thread.put(records.sample(201, [0x50010]))
    rec.stop()
    assert paths(rec.sealed(SYMBOLS)) == [("work", "main"), ()]


def test_code_without_a_name(rec: OpenRecording) -> None:
    thread = introduce(rec, 7)
    thread.put(records.sample(200, [0x10800, 0x77777, 0x10120]))
    thread.put(records.sample(201, []))
    rec.stop()
    assert paths(rec.sealed(SYMBOLS)) == [("tool!?", "?", "main"), ()]


def test_code_compiled_while_running_is_named_by_its_perf_map(rec: OpenRecording) -> None:
    thread = introduce(rec, 7)
    thread.put(records.sample(200, [0x70000, 0x70011, 0x10120]))
    thread.put(records.sample(201, [0x70000, 0x66666]))
    rec.stop()
    recording = rec.sealed(FakeSymbols({"/bin/tool": TOOL}, {7: {0x70000: "hot_js", 0x70010: "js_main"}}))
    assert paths(recording) == [("hot_js", "js_main", "main"), ("hot_js", "?")]
    assert ("[jit]", "jit") in {(m["name"], m["origin"]) for m in recording.table("modules").to_pylist()}


class TestProcesses:
    def test_a_fork_has_its_parents_modules_of_that_time(self, rec: OpenRecording) -> None:
        # GIVEN a fork between two loads at the same address
        parent = introduce(rec, 7)
        parent.put(records.module(120, 0x20000, 0x21000, bias=0x20000, path="/opt/old.so"))
        child = rec.thread(8, start=130)
        child.put(records.process(130, 8, 7, ProcessOrigin.FORK, executable="/bin/tool"))
        parent.put(ring_producer.module_gone(140, 0x20000))
        parent.put(records.module(141, 0x20000, 0x21000, bias=0x20000, path="/opt/new.so"))
        child.put(records.sample(150, [0x20010, 0x10120]))
        parent.put(records.sample(151, [0x20010, 0x10120]))
        parent.put(records.sample(125, [0x20010, 0x10120]))
        rec.stop()
        # THEN each saw its own
        recording = rec.sealed(SYMBOLS)
        assert paths(recording) == [("old.so!?", "main"), ("old.so!?", "main"), ("new.so!?", "main")]
        assert [p["origin"] for p in recording.table("processes").to_pylist()] == ["exec", "fork"]
        assert recording.table("samples").column("process").to_pylist() == [0, 1, 0]
        mapped = {(m["process"], m["start"], m["time"]) for m in recording.table("mappings").to_pylist()}
        assert (1, 0x20000, 130) in mapped and (1, 0x10000, 130) in mapped

    def test_an_exec_starts_afresh(self, rec: OpenRecording) -> None:
        before = introduce(rec, 7)
        after = rec.thread(7, start=300)
        after.put(records.process(300, 7, 1, ProcessOrigin.EXEC, executable="/bin/other"))
        after.put(records.module(301, 0x10000, 0x11000, bias=0x10000, path="/bin/other"))
        before.put(records.sample(200, [0x10120]))
        after.put(records.sample(310, [0x10120]))
        after.put(records.sample(311, [0x20120]))
        rec.stop()
        recording = rec.sealed(SYMBOLS)
        assert paths(recording) == [("main",), ("other!?",), ("?",)]
        assert {m["origin"] for m in recording.table("modules").to_pylist()} == {"program"}

    def test_threads_belong_to_the_process_that_started_them_also_after_the_pid_was_reused(
        self, rec: OpenRecording
    ) -> None:
        introduce(rec, 7)
        worker = rec.thread(7, 70, start=150)
        later = introduce(rec, 7, time=500)
        again = rec.thread(7, 70, start=550)
        for time, thread in ((200, worker), (600, again), (601, later)):
            thread.put(records.sample(time, [0x10120]))
        worker.put(ring_producer.thread_end(210, 12345, "io"))
        rec.log.append_json({"type": "thread-name", "pid": 7, "tid": 70, "name": "worker"})
        rec.stop()
        recording = rec.sealed(SYMBOLS)
        assert recording.table("samples").column("process").to_pylist() == [0, 1, 1]
        threads = recording.table("threads").to_pylist()
        assert [(t["process"], t["tid"], t["name"], t["cpu"]) for t in threads] == [
            (0, 7, "", -1),
            (0, 70, "io", 12345),
            (1, 7, "", -1),
            (1, 70, "worker", -1),
        ]

    def test_a_process_whose_introduction_was_lost(self, rec: OpenRecording) -> None:
        rec.thread(9).put(records.sample(200, [0x10120]))
        rec.stop()
        recording = rec.sealed(SYMBOLS)
        assert [(p["pid"], p["origin"]) for p in recording.table("processes").to_pylist()] == [(9, "attached")]
        assert paths(recording) == [("?",)]


def test_blocked_threads_seen_from_outside(rec: OpenRecording) -> None:
    # GIVEN a thread with a slot, one without, and samples of the second before and after an exec
    main = introduce(rec, 7)
    main.put(records.sample(150, [0x10120]))
    rec.drain()
    rec.log.append(3, records.owner(7, 7, main.sequence, 110) + records.blocked(160, [0x10150], 20_000_000, 7))
    rec.outside(7, 71, records.blocked(200, [0x10150, 0x10120], 20_000_000, 202))
    after = rec.thread(7, start=300)
    after.put(records.process(300, 7, 1, ProcessOrigin.EXEC, executable="/bin/other"))
    rec.outside(7, 71, records.blocked(400, [0x10150], 1_000, 0))
    rec.stop()
    recording = rec.sealed(SYMBOLS)
    rows = recording.table("samples").to_pylist()
    assert [(r["clock"], r["wait"], r["weight"], r["process"]) for r in rows] == [
        (0, -1, 5_000_000, 0),
        (1, 7, 20_000_000, 0),
        (1, 202, 20_000_000, 0),
        (1, 0, 1_000, 1),
    ]
    assert paths(recording) == [("main",), ("work",), ("work", "main"), ("?",)]
    threads = recording.table("threads").to_pylist()
    assert [(threads[r["thread"]]["tid"], threads[r["thread"]]["process"]) for r in rows] == [
        (7, 0),
        (7, 0),
        (71, 0),
        (71, 1),
    ]


class TestManifest:
    def test_how_it_ended_what_it_used_and_what_was_lost(self, tmp_path: Path) -> None:
        rec = OpenRecording(tmp_path / "rec", skip_ns=50)
        thread = introduce(rec, 7)
        thread.put(records.sample(250, [0x10120], cut=5))
        thread.put(ring_producer.unfollowed(251, "/bin/busybox", 1))
        thread.put(ring_producer.unfollowed(252, "/bin/busybox", 1))
        thread.count(samples=10, dropped=4, records_lost=3, busy=2, handler_ns=50_000, handler_ns_max=9_000)
        totals = dict.fromkeys(
            ("max_rss_bytes", "read_bytes", "written_bytes", "voluntary_switches", "involuntary_switches"), 3
        )
        totals |= {"wall_s": 2.0, "cpu_user_s": 1.5, "cpu_system_s": 0.5, "major_faults": 1}
        rec.log.append_json({"type": "ready", "time": 150})
        rec.log.append_json({"type": "totals", "time": 300, "at": "running", "totals": {**totals, "wall_s": 1.0}})
        rec.log.append_json({"type": "totals", "time": 10_000, "at": "stop", "totals": totals})
        rec.log.append_json({"type": "work", "time": 400, "unit": "request", "count": 12.5})
        rec.log.append_json({"type": "losses", "notes": ["something odd"], "counters": {}})
        rec.stop(exit_status=None, exit_signal=11, stopped_by="signal")
        manifest = rec.sealed(SYMBOLS).manifest
        assert (manifest.window.start, manifest.window.end, manifest.end_monotonic) == (200, 10_000, 10_000)
        assert (manifest.exit_status, manifest.exit_signal, manifest.stopped_by) == (None, 11, "signal")
        assert (manifest.totals.wall_s, manifest.totals.cpu_s) == (2.0, 2.0)
        assert manifest.overhead.handler_mean_us == pytest.approx(5.0)
        assert (manifest.overhead.handler_max_us, manifest.overhead.recorder_cpu_s) == (9.0, 0.5)
        losses = manifest.losses
        assert (losses.samples_dropped, losses.records_lost, losses.signals_missed) == (4, 3, 2)
        assert losses.stacks_cut == {"stack memory unreadable": 1}
        assert [(u.path, u.reason, u.count) for u in losses.unfollowed] == [("/bin/busybox", "statically linked", 2)]
        assert losses.notes == ("something odd",)
        assert manifest.command == ("./tool", "x")

    @pytest.mark.parametrize(
        ("said", "rate_hz"), [({"period_ns": 8_000_000}, 125.0), ({"period_ns": 0}, 0.0), ({}, 0.0)]
    )
    def test_waits_were_looked_at_as_often_as_the_recorder_could(
        self, tmp_path: Path, said: dict[str, int], rate_hz: float
    ) -> None:
        rec = OpenRecording(tmp_path / "rec")
        introduce(rec, 7)
        rec.log.append_json({"type": "looks", "time": 300, **said})
        rec.stop(exit_status=0, exit_signal=None, stopped_by="exit")
        assert rec.sealed(SYMBOLS).manifest.sampling.blocked_rate_hz == rate_hz

    def test_handlers_never_took_more_than_the_programs_cpu_time(self, rec: OpenRecording) -> None:
        # GIVEN handlers of a sandbox that took 16.1 s by the clock, preempted, in a program that used 9 s of CPU time
        introduce(rec, 7).count(samples=1000, handler_ns=16_100_000_000, handler_ns_max=90_000_000)
        totals = dict.fromkeys(("max_rss_bytes", "read_bytes", "written_bytes", "voluntary_switches"), 0)
        totals |= {"wall_s": 40.0, "cpu_user_s": 8.0, "cpu_system_s": 1.0, "major_faults": 0}
        rec.log.append_json(
            {"type": "totals", "time": 9_000, "at": "stop", "totals": {**totals, "involuntary_switches": 0}}
        )
        rec.stop(exit_status=0, exit_signal=None, stopped_by="exit")
        overhead = rec.sealed(SYMBOLS).manifest.overhead
        assert (overhead.handler_s, overhead.handler_mean_us) == (9.0, 9_000.0)

    def test_a_killed_recorder_leaves_what_is_in_the_rings(self, rec: OpenRecording) -> None:
        thread = introduce(rec, 7)
        thread.put(records.sample(200, [0x10120]))
        rec.drain()
        thread.put(records.sample(300, [0x10150]))
        recording = rec.sealed(SYMBOLS)
        assert paths(recording) == [("main",), ("work",)]
        manifest = recording.manifest
        assert (manifest.stopped_by, manifest.end_monotonic, manifest.exit_status) == ("recorder-killed", 300, None)
        assert manifest.totals.cpu_user_s == pytest.approx(0.01)
        assert any("killed" in note for note in manifest.losses.notes)
        # AND whoever outlived it is told to write nothing more
        assert rec.rings.memory[28:32] == b"\1\0\0\0"

    def test_samples_drained_but_not_yet_taken_off_the_ring_count_once(self, rec: OpenRecording) -> None:
        """A recorder can be killed between its write and its note of it."""
        thread = introduce(rec, 7)
        thread.put(records.sample(200, [0x10120]))
        Drainer(rec.rings.path, copy=True).drain(rec.log.fileno())
        assert paths(rec.sealed(SYMBOLS)) == [("main",)]

    def test_a_run_is_one_unit_of_work_unless_someone_says_otherwise(self, rec: OpenRecording) -> None:
        introduce(rec, 7)
        rec.stop(time=5_000)
        assert rec.sealed().table("work").to_pylist() == [{"time": 5_000, "unit": "run", "count": 1.0}]

    def test_units_of_work_are_kept(self, rec: OpenRecording) -> None:
        rec.log.append_json({"type": "work", "time": 400, "unit": "request", "count": 12.5})
        rec.log.append_json({"type": "work", "time": 500, "unit": "request", "count": 20})
        rec.stop()
        assert [(w["unit"], w["count"]) for w in rec.sealed().table("work").to_pylist()] == [
            ("request", 12.5),
            ("request", 20.0),
        ]


def test_dropped_files_cost_their_samples_and_nothing_else(tmp_path: Path) -> None:
    # GIVEN a log whose first files, with the introduction of everyone, had to go
    rec = OpenRecording(tmp_path / "rec", max_bytes=64 * 1024)
    thread = introduce(rec, os.getpid())
    rec.log.append_json({"type": "ready", "time": 150})
    for i in range(4000):
        thread.put(records.sample(200 + i, [0x10100 + i % 0x40, 0x10120, i + 1]))
        if i % 50 == 49:
            rec.drain()
    rec.stop()
    # THEN the rest still has names, and the beginning is said to be lost
    recording = rec.sealed(SYMBOLS)
    times = recording.table("samples").column("time").to_pylist()
    assert times[0] > 200 and times == list(range(times[0], 4200))
    assert set(paths(recording)) == {("main", "main", "?")}
    assert recording.manifest.losses.overwritten_s > 0
    assert recording.manifest.window.start == 150
    assert recording.table("processes").num_rows == 1
