"""Open recordings that are damaged, half-written, killed, or not yet to be read."""

from __future__ import annotations

import contextlib
import fcntl
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.collect.open_recording import FakeBinary, FakeSymbols, OpenRecording, paths
from tests.recording.full_disk import full_disk
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
from whyperf.seal.opening import open_recording, seal

SYMBOLS = FakeSymbols({"/bin/tool": FakeBinary({"main": (0x100, 0x140), "work": (0x140, 0x180)})})


def record_something(path: Path) -> OpenRecording:
    rec = OpenRecording(path)
    thread = rec.thread(7, start=110)
    thread.put(records.process(110, 7, 1, ProcessOrigin.EXEC, executable="/bin/tool"))
    thread.put(records.module(111, 0x10000, 0x11000, bias=0x10000, path="/bin/tool"))
    for i in range(40):
        thread.put(records.sample(200 + i, [0x10100 + i, 0x10150]))
        if i % 10 == 0:
            rec.drain()
    rec.log.append_json({"type": "ready", "time": 150})
    rec.stop()
    return rec


def test_damage_in_the_log_costs_only_what_it_hit(tmp_path: Path) -> None:
    rec = record_something(tmp_path / "whole")
    original = (rec.raw / "log-000001").read_bytes()
    for at in range(0, len(original), max(1, len(original) // 30)):
        for damaged in (original[:at], original[:at] + bytes([original[at] ^ 0x55]) + original[at + 1 :]):
            broken = tmp_path / "broken"
            shutil.rmtree(broken, ignore_errors=True)
            shutil.copytree(rec.path, broken, ignore=shutil.ignore_patterns("rings"))
            (broken / "raw" / "log-000001").write_bytes(damaged)
            recording = seal(broken, symbols=SYMBOLS)
            lost = 40 - recording.table("samples").num_rows
            said = recording.manifest.losses
            assert lost == 0 or said.damaged_bytes > 0 or len(damaged) < len(original)
            assert said.damaged_bytes < len(original)


def test_a_raw_log_of_another_machine_is_refused(tmp_path: Path) -> None:
    rec = record_something(tmp_path / "elsewhere")
    start = json.loads((rec.raw / "start.json").read_bytes())
    start["host"]["machine"] = "riscv64"
    (rec.raw / "start.json").write_text(json.dumps(start))
    with pytest.raises(WhyperfError, match="was recorded on 'riscv64' and not finished there"):
        seal(rec.path, symbols=SYMBOLS)


def test_damage_in_the_rings_is_counted_and_never_a_traceback(tmp_path: Path) -> None:
    rng = random.Random(7)
    for attempt in range(20):
        rec = record_something(tmp_path / str(attempt))
        # Slots, heads and tails, the ring itself, the header.
        for low, high in ((16384, 16384 + 192), (802816, 802816 + 4096), (8, 64)):
            for _ in range(rng.randrange(4)):
                rec.rings.memory[rng.randrange(low, high)] = rng.randrange(256)
        recording = seal(rec.path, symbols=SYMBOLS)
        assert recording.table("samples").num_rows >= 40


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"command": 5}', b"\xff\xfe"])
def test_a_recorder_killed_before_it_began(tmp_path: Path, content: bytes) -> None:
    rec = record_something(tmp_path / "rec")
    (rec.raw / "start.json").write_bytes(content)
    with pytest.raises(WhyperfError, match="holds nothing"):
        open_recording(rec.path)
    (rec.raw / "start.json").unlink()
    with pytest.raises(WhyperfError, match="holds nothing"):
        open_recording(rec.path)


@pytest.mark.parametrize("link", ["samples.new", "manifest.json.new", "raw/lock", "raw/rings"])
def test_sealing_somebody_elses_recording_writes_through_no_link(tmp_path: Path, link: str) -> None:
    # GIVEN an open recording from elsewhere, in which a file that sealing writes is a link to one of the user's own
    rec = record_something(tmp_path / "rec")
    own = tmp_path / "thesis.txt"
    own.write_bytes((rec.path / link).read_bytes() if (rec.path / link).exists() else b"years of work")
    before = own.read_bytes()
    (rec.path / link).unlink(missing_ok=True)
    (rec.path / link).symlink_to(own)
    # WHEN it is opened, THEN the user's file is as it was
    with contextlib.suppress(WhyperfError):
        seal(rec.path, symbols=SYMBOLS)
    assert own.read_bytes() == before


@pytest.mark.parametrize("missing", ["rings", "log-000001", "lock"])
def test_what_is_missing_costs_only_itself(tmp_path: Path, missing: str) -> None:
    rec = record_something(tmp_path / "rec")
    (rec.raw / missing).unlink()
    assert seal(rec.path, symbols=SYMBOLS).table("samples").num_rows == (0 if missing == "log-000001" else 40)


def test_nonsense_said_in_the_log(tmp_path: Path) -> None:
    rec = OpenRecording(tmp_path / "rec")
    for said in (
        {"type": "ready", "time": "soon"},
        {"type": "totals", "at": "stop", "totals": {"wall_s": "long"}},
        {"type": "totals", "at": "stop"},
        {"type": "work", "time": None, "unit": None, "count": {}},
        {"type": "losses", "notes": 5, "counters": []},
        {"type": "thread-name", "pid": "x"},
        {"type": "stop", "time": [], "exit_status": "fine", "stopped_by": 7},
        {},
    ):
        rec.log.append_json(said)
    rec.log.append(2, b"not json")
    rec.log.append(77, b"unknown kind")
    rec.log.append(1, b"short")
    rec.outside(1, 1, b"\xff" * 64)
    manifest = rec.sealed().manifest
    assert manifest.exit_status is None
    assert manifest.losses.damaged_bytes >= 64


def test_a_recording_that_is_still_being_written_is_refused(tmp_path: Path) -> None:
    rec = record_something(tmp_path / "rec")
    with (rec.raw / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(WhyperfError, match="still being written"):
            open_recording(rec.path)
        assert rec.raw.exists()
    assert open_recording(rec.path).table("samples").num_rows == 40


def test_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(WhyperfError, match="There is no recording"):
        open_recording(tmp_path / "absent")
    with pytest.raises(WhyperfError, match="is not a recording"):
        open_recording(tmp_path)


def test_two_readers_at_once_seal_once(tmp_path: Path) -> None:
    rec = record_something(tmp_path / "rec")
    program = "import sys; from whyperf.seal.opening import seal; print(seal(sys.argv[1]).table('samples').num_rows)"
    readers = [
        subprocess.Popen([sys.executable, "-c", program, str(rec.path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [reader.communicate()[0].strip() for reader in readers] == ["40"] * 3


def test_a_raw_log_left_behind_by_a_killed_sealer_is_cleared_away(tmp_path: Path) -> None:
    rec = record_something(tmp_path / "rec")
    shutil.copytree(rec.raw, tmp_path / "copy")
    seal(rec.path, symbols=SYMBOLS)
    shutil.copytree(tmp_path / "copy", rec.raw)
    assert paths(open_recording(rec.path))[0] == ("main", "work")
    assert not rec.raw.exists()


def test_a_full_disk_while_sealing_is_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    with full_disk(tmp_path / "small", 40 << 20) as folder:
        rec = record_something(folder / "rec")
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(folder).free - 4096))
        with pytest.raises(WhyperfError, match="No space left"):
            seal(rec.path, symbols=SYMBOLS)
        ballast.unlink()
        assert seal(rec.path, symbols=SYMBOLS).table("samples").num_rows == 40


_RECORDER = """
import os, sys
from pathlib import Path
from tests.collect.open_recording import OpenRecording
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
rec = OpenRecording(Path(sys.argv[1]), max_bytes=1 << 20)
thread = rec.thread(os.getpid(), start=110)
thread.put(records.process(110, os.getpid(), 1, ProcessOrigin.EXEC, executable="/bin/tool"))
thread.put(records.module(111, 0x10000, 0x11000, bias=0x10000, path="/bin/tool"))
rec.drain()
os.write(1, b"x")
number = 0
while True:
    number += thread.put(records.sample(1000 + number, [0x10100 + number % 0x40, 0x10150, number + 1]))
    os.pwrite(1, number.to_bytes(8, "little"), 0) if os.path.isfile("/proc/self/fd/1") else None
    if number % 7 == 0:
        rec.drain()
"""


def test_a_recorder_killed_at_any_moment_leaves_all_that_had_been_produced(tmp_path: Path) -> None:
    rng = random.Random(3)
    for attempt in range(12):
        path, produced = tmp_path / f"rec{attempt}", tmp_path / f"produced{attempt}"
        with produced.open("wb") as count:
            command = [sys.executable, "-c", _RECORDER, str(path)]
            recorder = subprocess.Popen(command, stdout=count, cwd=Path(__file__).parents[2])
            while produced.stat().st_size == 0 and recorder.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.random() * 0.15)
            recorder.send_signal(signal.SIGKILL)
            recorder.wait()
        claimed = int.from_bytes(produced.read_bytes()[:8], "little") if produced.stat().st_size == 8 else 0
        recording = seal(path, symbols=SYMBOLS)
        times = recording.table("samples").column("time").to_pylist()
        assert times == list(range(times[0], times[0] + len(times))) if times else claimed == 0
        assert not times or times[-1] in (1000 + claimed - 1, 1000 + claimed)
        assert not times or times[0] == 1000 or recording.manifest.losses.overwritten_s > 0
        assert {path[:2] for path in paths(recording)} <= {("main", "work")}
        assert recording.manifest.stopped_by == "recorder-killed"
        shutil.rmtree(path)
