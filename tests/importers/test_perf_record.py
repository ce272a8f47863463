"""Kernel events without BPF: perf beside the target."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.importers import imported as ours
from tests.shared_cache import SHARED_CACHE
from whyperf.collect.perf_record import process
from whyperf.collect.perf_record.run import record_with_perf
from whyperf.collect.setup.lifecycle import Lifecycle, RunOutcome
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data.recorded import seal_recorded_by_perf
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording

SANDBOX = Path(__file__).parents[1] / "collect" / "tracer" / "sandbox.py"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed: apt-get install linux-perf"),
    pytest.mark.skipif(os.geteuid() != 0, reason="perf traces other processes for root only"),
]


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(tmp_path / "trace"))
    monkeypatch.setenv("XDG_CACHE_HOME", SHARED_CACHE)


def record(tmp_path: Path, program: Path | None, *arguments: str, **options: object) -> tuple[RunOutcome, Recording]:
    path = tmp_path / "recording"
    started = Program(str(program), (str(program), *arguments)) if program else None
    outcome = record_with_perf(
        started,
        path,
        seal=seal_recorded_by_perf,
        **{"lifecycle": Lifecycle(), "environment": dict(os.environ), "capture_output": program is not None, **options},  # type: ignore[arg-type]
    )
    return outcome, Recording(path)


def test_a_program_is_recorded_with_its_waits(ledger: dict[str, Path], tmp_path: Path) -> None:
    # WHEN a program without frame pointers is recorded by perf
    outcome, recording = record(tmp_path, ledger["dwarf"], "slowly", sample_hz=999)

    # THEN its CPU time is where it was spent, with all callers
    assert outcome.status == 0 and outcome.stopped_by == "exit"
    assert ("find_in_list", "book", "clerk", "start_thread") in {s.functions[:4] for s in ours.samples(recording)}
    sampled = recording.column("samples", "weight").sum() / 1e9
    assert sampled == pytest.approx(recording.manifest.totals.cpu_s, rel=0.25)

    # AND its sleeps are there, and nothing of whyperf or perf
    rows = recording.table("events").to_pylist()
    threads = recording.table("threads").to_pylist()
    processes = recording.table("processes").to_pylist()
    sleeps = [row for row in rows if row["kind"] == EventKind.SWITCH and row["detail"] == 230 and row["result"] == 1]
    assert len(sleeps) == 7
    acting = {processes[threads[row["thread"]]["process"]]["executable"] for row in rows if row["thread"] >= 0}
    assert acting == {str(ledger["dwarf"])}

    # AND the manifest says how it was made
    trace = recording.manifest.trace
    assert trace is not None and (trace.source, trace.scope, trace.clock) == ("perf", "tree", "monotonic")
    assert any("socket" in kinds for kinds in trace.absent)


def test_a_running_process_is_watched_and_left_alone(tmp_path: Path) -> None:
    target = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
    try:
        outcome, recording = record(tmp_path, None, pid=target.pid, lifecycle=Lifecycle(for_s=0.5))

        assert target.poll() is None
        assert outcome.stopped_by == "for"
        kinds = set(recording.column("events", "kind").tolist())
        assert {EventKind.SWITCH, EventKind.SYSCALL, EventKind.FORK} <= kinds
    finally:
        target.kill()
        target.wait()


def test_a_process_that_is_gone_gets_a_sentence(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()

    with pytest.raises(WhyperfError, match=str(gone.pid)):
        record(tmp_path, None, pid=gone.pid, lifecycle=Lifecycle(for_s=0.5))

    assert not (tmp_path / "recording").exists()


def test_without_perf_the_sentence_names_the_package(
    ledger: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(WhyperfError, match="not installed") as refused:
        record(tmp_path, ledger["fp"])

    assert "linux-perf" in (refused.value.next_command or "")
    assert not (tmp_path / "recording").exists()


def test_without_tracefs_the_sentence_says_how_to_mount_it(
    ledger: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_TRACEFS", (tmp_path / "tracing",))

    with pytest.raises(WhyperfError, match="tracefs is not mounted") as refused:
        record(tmp_path, ledger["fp"])

    assert "mount -t tracefs" in (refused.value.next_command or "")
    assert not (tmp_path / "recording").exists()


def without_bpf(folder: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """whyperf on a kernel that permits root everything but BPF."""
    sandbox = [sys.executable, str(SANDBOX), "--deny", "EPERM", "--only", "bpf", "--"]
    command = [*before, *sandbox, sys.executable, "-m", "whyperf", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_root_without_bpf_records_by_perf_and_says_so(ledger: dict[str, Path], tmp_path: Path) -> None:
    # WHEN a program is traced
    done = without_bpf(tmp_path, "record", "--trace", "-o", "traced", "--", str(ledger["dwarf"]))

    # THEN perf records it
    assert done.returncode == 0, done.stderr
    assert "recorded by perf" in done.stderr
    trace = Recording(tmp_path / "traced").manifest.trace
    assert trace is not None and trace.source == "perf"


def test_kernel_events_are_there_where_nobody_has_mounted_tracefs(tmp_path: Path) -> None:
    # GIVEN a fresh machine: tracefs is hidden by an empty folder in a namespace of our own
    unmount = "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; test ! -e /sys/kernel/tracing/events"
    fresh = ["unshare", "--mount", "sh", "-c", f'{unmount} && exec "$@"', "sh"]

    # WHEN a program that sleeps is traced
    done = without_bpf(tmp_path, "record", "--trace", "-o", "traced", "--", "sleep", "0.1", before=fresh)

    # THEN its switches and system calls were recorded
    assert done.returncode == 0, done.stderr
    kinds = set(Recording(tmp_path / "traced").column("events", "kind").tolist())
    assert {EventKind.SWITCH, EventKind.SYSCALL} <= kinds


def test_root_without_bpf_compares_by_perf(tmp_path: Path) -> None:
    # GIVEN two commands of which one waits
    sides = ["--good", "sleep 0.1", "--bad", "sleep 0.6", "--runs", "2", "-o", "both"]

    # WHEN they are compared with kernel events
    done = without_bpf(tmp_path, "compare", "--trace", *sides, "--json", "verdict.json")

    # THEN perf records them, said once, and kernel events tell where the time went
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recorded by perf") == 1
    traces = [
        Recording(tmp_path / "both" / f"{side}-{run}").manifest.trace for side in ("good", "bad") for run in (1, 2)
    ]
    assert [trace.source for trace in traces if trace is not None] == ["perf"] * 4
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert {one["engine"] for one in verdict["suspects"][0]["evidence"]} & {"contexts", "causes"}
