"""`record --trace -- COMMAND`: kernel events beside the sampler's samples, in one recording."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.collect.tracer.recording import Command, functions_on_stacks, kinds, names, needs_bpf
from tests.patience import PATIENCE_S, wait_until
from whyperf.collect.tracer.facts import FACTS
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording
from whyperf.seal.opening import seal

pytestmark = needs_bpf
_PROGRAMS = Path(__file__).parent / "programs"
_NANOSLEEP = (35, 230)  # and clock_nanosleep
_READ = 0


@pytest.fixture
def whyperf(tmp_path: Path) -> Command:
    return Command(tmp_path)


def build(program: Path) -> Path:
    """With a build-id of its own: nobody has read anything of it yet."""
    identity = f"-Wl,--build-id=0x{secrets.token_hex(20)}"
    subprocess.run(["cc", "-O2", "-g", "-pthread", identity, "-o", program, _PROGRAMS / "waits.c"], check=True)
    return program


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("waits") / "waits")


@pytest.fixture(scope="module")
def recorded(waits: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    whyperf = Command(tmp_path_factory.mktemp("recorded"))
    facts, go_on = whyperf.folder / "rec" / "raw" / FACTS, whyperf.folder / "go-on"
    with whyperf.start("record", "--trace", "-o", "rec", "--", str(waits), str(go_on)) as recorder:
        # It is known a moment after it was mapped what the program consists of.
        wait_until(lambda: facts.exists() and _are_mapped(facts.read_bytes(), str(waits), "libc.so.6"))
        go_on.touch()
        said = recorder.communicate(timeout=PATIENCE_S)
        assert recorder.returncode == 0, said
    return whyperf.recording("rec")


def _are_mapped(facts: bytes, *files: str) -> bool:
    """By what JSON tells of mappings: the process itself has no `path`."""
    return all(re.search(rf'"path": "[^"]*{re.escape(file)}"'.encode(), facts) for file in files)


def test_a_pipeline_is_followed_through_all_its_processes(whyperf: Command) -> None:
    done = whyperf("record", "--trace", "-o", "rec", "--", "sh", "-c", "seq 50000 | sort -n | tail -1; sleep 0.1")
    assert done.stdout == "50000\n"
    recording = whyperf.recording("rec")
    assert {"sh", "seq", "sort", "tail", "sleep"} <= names(recording)
    expected = {EventKind.SWITCH, EventKind.WAKING, EventKind.SYSCALL, EventKind.FORK, EventKind.EXEC, EventKind.EXIT}
    assert expected <= kinds(recording)
    trace = recording.manifest.trace
    assert trace is not None
    assert (trace.source, trace.scope, trace.events_lost) == ("bpf", "tree", 0)
    executables = dict(
        zip(*(recording.table("processes").column(name).to_pylist() for name in ("pid", "executable")), strict=True)
    )
    assert all(Path(path).is_absolute() for path in executables.values() if path)
    time_column = recording.column("events", "time")
    assert np.all(time_column[1:] >= time_column[:-1])


def test_where_threads_wait_is_on_their_stacks(recorded: Recording) -> None:
    events = recorded.table("events")
    kind, detail, thread = (recorded.column("events", name) for name in ("kind", "detail", "thread"))
    switched = kind == EventKind.SWITCH
    asleep = np.flatnonzero(switched & np.isin(detail, _NANOSLEEP))
    in_function = [path for path in functions_on_stacks(recorded, asleep.tolist()) if "wait_a_while" in path]
    assert len(in_function) == 4
    assert all("main" in path for path in in_function)
    listening = np.flatnonzero(switched & (detail == _READ) & (thread >= 0))
    assert any("wait_for_word" in path for path in functions_on_stacks(recorded, listening.tolist()))
    assert events.num_rows > 20


def test_threads_have_names_and_whoever_wakes_them_is_told(recorded: Recording) -> None:
    threads = recorded.table("threads").to_pylist()
    (listener,) = (row for row in threads if row["name"] == "listener")
    kind, other, thread = (recorded.column("events", name) for name in ("kind", "other", "thread"))
    wakers = {
        threads[row]["tid"] for row in thread[(kind == EventKind.WAKING) & (other == listener["thread"])].tolist()
    }
    process = recorded.table("processes").to_pylist()[listener["process"]]
    assert process["pid"] in wakers  # the main thread wrote the word


def test_the_sampler_samples_as_ever(recorded: Recording, whyperf: Command) -> None:
    assert recorded.manifest.sampling.source == "cpu-timer"
    whyperf("record", "--trace", "-o", "busy", "--", "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    busy = whyperf.recording("busy")
    assert busy.table("samples").num_rows > 5
    assert set(busy.column("samples", "clock").tolist()) == {0}
    # Both mean the same process.
    process = set(busy.column("samples", "process").tolist())
    owner = np.array(busy.table("threads").column("process").to_pylist())
    assert process <= set(owner[busy.column("events", "thread")[busy.column("events", "thread") >= 0]].tolist())


def test_info_tells_what_was_traced(whyperf: Command) -> None:
    whyperf("record", "--trace", "-o", "rec", "--", "true")
    said = whyperf("info", "rec").stdout
    assert "events" in said and "the program, what it started and what they talked to" in said
    assert '"trace": {' in whyperf("info", "rec", "--json").stdout


def test_a_program_that_ends_at_once_is_recorded_whole(whyperf: Command) -> None:
    assert whyperf("record", "--trace", "-o", "rec", "--", "false", status=1)
    found = kinds(whyperf.recording("rec"))
    assert {EventKind.EXEC, EventKind.EXIT} <= found


def test_two_tracers_are_refused_with_the_holders_name(whyperf: Command) -> None:
    with whyperf.start("record", "--trace", "-o", "first", "--", "sleep", "30") as first:
        try:
            _wait_for(whyperf.folder / "first" / "raw" / "start.json")
            refused = whyperf("record", "--trace", "-o", "second", "--", "true", status=1)
            assert "whyperf record --trace -- sleep 30 (process " in refused.stderr
            assert str(first.pid) in refused.stderr
            assert not (whyperf.folder / "second").exists()
        finally:
            first.send_signal(signal.SIGINT)
            first.wait(PATIENCE_S)


def test_the_program_inherits_no_descriptor(whyperf: Command) -> None:
    listed = ("sh", "-c", "ls /proc/self/fd > fds")
    subprocess.run(listed, cwd=whyperf.folder, check=True)
    alone = (whyperf.folder / "fds").read_text()
    whyperf("record", "--trace", "-o", "rec", "--", *listed)
    assert (whyperf.folder / "fds").read_text() == alone


def test_a_killed_recorder_leaves_a_readable_recording(whyperf: Command) -> None:
    with whyperf.start("record", "--trace", "-o", "rec", "--", "sh", "-c", "while :; do sleep 0.01; done") as recorder:
        _wait_for(whyperf.folder / "rec" / "raw" / "start.json")
        time.sleep(3.0)
        recorder.kill()
        recorder.wait(PATIENCE_S)
    subprocess.run(["pkill", "-f", "^sh -c while :; do sleep 0.01; done$"], check=True)  # it ran on, as it should
    assert "the recorder was killed" in whyperf("info", "rec").stdout
    recording = whyperf.recording("rec")
    assert {"sleep", "sh"} <= names(recording)
    assert EventKind.SWITCH in kinds(recording)
    # Nothing is left behind that would refuse the next one.
    whyperf("record", "--trace", "-o", "next", "--", "true")


def test_the_newest_part_is_kept_within_the_bound(whyperf: Command) -> None:
    # Until the oldest file is dropped: how soon that is depends on what the governor leaves out on this machine.
    storm = """
import os, time
end = time.monotonic() + 60
ours, theirs = os.pipe()
while os.path.exists("rec/raw/log-000001") and time.monotonic() < end:
    for _ in range(1000):
        os.write(theirs, b"x")
        os.read(ours, 1)
"""
    whyperf("record", "--trace", "--no-values", "--max-size", "4M", "-o", "rec", "--", "python3", "-c", storm)
    recording = whyperf.recording("rec")
    assert recording.manifest.losses.overwritten_s > 0
    assert 0 < recording.table("events").num_rows < 100_000
    assert EventKind.EXIT in kinds(recording)
    # What explains the events that are left was not dropped with those that came first.
    assert "python3" in names(recording)
    stacked = np.flatnonzero(recording.column("events", "stack") >= 0)
    assert any("main" in name for path in functions_on_stacks(recording, stacked.tolist()) for name in path)


def test_a_program_replaced_before_it_is_sealed_costs_its_names(whyperf: Command) -> None:
    program = build(whyperf.folder / "waits")
    facts = whyperf.folder / "rec" / "raw" / FACTS
    with whyperf.start("record", "--trace", "--no-values", "-o", "rec", "--", str(program), "never-made") as recorder:
        wait_until(lambda: facts.exists() and _are_mapped(facts.read_bytes(), str(program)))
        os.killpg(recorder.pid, signal.SIGKILL)
        recorder.wait(PATIENCE_S)
    program.unlink()
    shutil.copy("/bin/true", program)
    recording = seal(whyperf.folder / "rec")
    module = next(row for row in recording.table("modules").to_pylist() if row["path"] == str(program))
    assert module["debug"] == "none"


def _wait_for(path: Path) -> None:
    wait_until(path.exists, str(path))
