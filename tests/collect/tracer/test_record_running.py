"""`record --trace --pid` and `--all`: what already runs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.collect.tracer.recording import Command, functions_on_stacks, kinds, names, needs_bpf
from tests.patience import PATIENCE_S
from whyperf.recording.schemas.events import EventKind

pytestmark = needs_bpf
_SERVER = """
import os, subprocess, sys, time
print("ready", flush=True)
while True:
    time.sleep(0.01)
    sum(range(20000))
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
        subprocess.run(["/bin/sleep", "0.2"])
"""


@pytest.fixture
def whyperf(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _SERVER, str(tmp_path / "go")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def test_a_running_process_with_what_it_starts(whyperf: Command, server: subprocess.Popen[str]) -> None:
    go = f"sleep 0.3; touch {whyperf.folder / 'go'}; sleep 0.5"
    whyperf("record", "--trace", "--pid", str(server.pid), "--drive", f"sh -c '{go}'", "-o", "rec")
    assert server.poll() is None
    recording = whyperf.recording("rec")
    trace = recording.manifest.trace
    assert trace is not None and trace.scope == "tree"
    rows = recording.table("processes").to_pylist()
    followed = {
        Path(row["command"][0]).name for row in rows if row["origin"] not in ("met", "beside") and row["command"]
    }
    assert "sleep" in followed
    assert all(name.startswith("python") or name in ("sleep", "whyperf") for name in followed), followed
    assert any(row["pid"] == server.pid and row["cgroup"].startswith("/") for row in rows)
    # Its samples are the tracer's, its waits are on its stacks.
    assert recording.manifest.sampling.source == "trace"
    kind, detail, thread = (recording.column("events", name) for name in ("kind", "detail", "thread"))
    asleep = np.flatnonzero((kind == EventKind.SWITCH) & (detail == 230) & (thread >= 0))
    assert any("clock_nanosleep" in name for path in functions_on_stacks(recording, asleep.tolist()) for name in path)


def test_everybody_for_a_while(whyperf: Command, server: subprocess.Popen[str]) -> None:
    done = whyperf("record", "--trace", "--all", "--for", "1s", "-o", "rec")
    assert "elapsed" in done.stderr
    recording = whyperf.recording("rec")
    manifest = recording.manifest
    assert manifest.stopped_by == "for"
    assert manifest.command == ("[all processes]",)
    assert manifest.totals.cpu_s > 0
    pids = set(recording.table("processes").column("pid").to_pylist())
    assert server.pid in pids
    assert "met" not in recording.table("processes").column("origin").to_pylist()
    assert {EventKind.SWITCH, EventKind.SAMPLE} <= kinds(recording)
    period = 1e9 / 99
    assert set(np.rint(recording.column("samples", "weight") / period).tolist()) == {1.0}
    # What happened while it was loaded and unloaded is not in it.
    time_column = recording.column("events", "time")
    assert manifest.window.start <= time_column[0]
    assert time_column[-1] <= manifest.window.end + 2_000_000_000  # as long as a busy machine takes to pause it


def test_interrupted_it_is_whole(whyperf: Command) -> None:
    with whyperf.start("record", "--trace", "--all", "-o", "rec") as recorder:
        deadline = time.monotonic() + PATIENCE_S
        while not list((whyperf.folder / "rec" / "raw").glob("log-*")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(PATIENCE_S) == 0
    recording = whyperf.recording("rec")
    assert recording.manifest.stopped_by == "interrupt"
    assert recording.table("events").num_rows > 0
    assert names(recording)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--trace", "--pid", "4194303"), "There is no process 4194303."),
        (("--all",), "--all is for kernel events."),
        (("--trace", "--all", "--", "true"), "--all and a command exclude each other."),
        (("--trace", "--deep", "--", "true"), "--trace and --deep exclude each other"),
        (("--trace", "--all", "--ready", "tcp:1"), "are for programs that whyperf starts"),
        (("--trace", "--trace-rate", "99999", "--", "true"), "The highest --trace-rate"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(whyperf: Command, words: tuple[str, ...], sentence: str) -> None:
    done = whyperf("record", *words, "-o", "rec", status=None)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert not (whyperf.folder / "rec").exists()


def test_a_full_disk_ends_the_recording_with_a_sentence(whyperf: Command) -> None:
    disk = whyperf.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3M", "none", disk], check=False).returncode:
        pytest.skip("mounting is not permitted here")
    storm = "import os\nfor i in range(150_000): os.getppid()\nprint('work=1')"
    (whyperf.folder / "storm.py").write_text(storm)
    try:
        drive = f"{sys.executable} {whyperf.folder / 'storm.py'}"
        done = whyperf("record", "--trace", "--all", "--drive", drive, "-o", "disk/rec", status=None)
        assert "The disk was full" in done.stderr or "cannot be written" in done.stderr
    finally:
        subprocess.run(["umount", disk], check=True)
