"""Real recordings: what we read of them is what perf reads."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.importers import imported as ours
from tests.importers import oracle
from tests.importers.conftest import WAYS, Perf
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording

pytestmark = pytest.mark.process

Get = Callable[[str, str], Path]
Imported = Callable[[str, str], Recording]


@pytest.mark.parametrize("way", WAYS)
def test_samples_and_shares_are_perfs(way: str, recorded: Get, imported: Imported) -> None:
    # GIVEN a recording by perf and the same imported
    file, recording = recorded(way, "good"), imported(way, "good")

    # THEN every sample is there, at its time, of its thread, with its weight
    theirs = oracle.samples(file)
    mine = ours.samples(recording)
    assert sorted((s.tid, s.microseconds, s.period) for s in mine) == sorted(
        (s.tid, s.microseconds, s.period) for s in theirs
    )

    # AND functions have the shares that perf reports
    expected, found = oracle.shares(file), ours.shares(recording)
    assert expected["scramble"] > 0.3
    for name in ("scramble", "book", "clerk", "find_in_table"):
        assert found.get(name, 0.0) == pytest.approx(expected.get(name, 0.0), abs=0.002), name


@pytest.mark.parametrize("way", ["fp", "dwarf"])
def test_callers_are_perfs(way: str, recorded: Get, imported: Imported) -> None:
    # GIVEN call chains by frame pointers, or unwound from copied stacks
    theirs = {(s.tid, s.microseconds): s.functions for s in oracle.samples(recorded(way, "bad"))}
    mine = {(s.tid, s.microseconds): s.functions for s in ours.samples(imported(way, "bad"))}

    # THEN from the sampled function up to the thread's start they are the same
    own = {"scramble", "find_in_list", "book", "clerk", "start_thread"}
    compared = [key for key, functions in theirs.items() if functions and functions[0] in own]
    assert len(compared) > 200
    same = sum([f for f in mine[key] if f in own] == [f for f in theirs[key] if f in own] for key in compared)
    assert same >= 0.99 * len(compared)
    if way == "dwarf":
        assert ("find_in_list", "book", "clerk", "start_thread") in {functions[:4] for functions in mine.values()}


def test_a_compressed_recording_and_a_piped_one_are_read(ledger: dict[str, Path], perf: Perf, tmp_path: Path) -> None:
    # GIVEN the program recorded with zstd, and through a pipe
    packed = perf(["-z", "-g"], [ledger["fp"]])
    piped = tmp_path / "piped.data"
    with piped.open("wb") as file:
        command = ["perf", "record", "-q", "-g", "-o", "-", "--", ledger["fp"]]
        subprocess.run(command, stdout=file, check=True)

    # THEN both hold what perf finds in them; the program's own output in the pipe is perf's to bear
    for name, source in (("packed", packed), ("piped", piped)):
        recording = import_perf_data(source, tmp_path / name)
        assert recording.manifest.tables["samples"].rows == len(oracle.samples(source)), name
        assert ours.shares(recording)["scramble"] > 0.3, name


def test_the_clock_is_aligned_only_where_perf_used_the_monotonic_one(
    ledger: dict[str, Path], perf: Perf, recorded: Get, tmp_path: Path
) -> None:
    aligned = import_perf_data(perf(["-k", "mono"], [ledger["fp"]]), tmp_path / "aligned").manifest
    other = import_perf_data(recorded("none", "good"), tmp_path / "other").manifest

    assert aligned.trace is not None and aligned.trace.clock == "monotonic"
    assert other.trace is not None and other.trace.clock == "unaligned"
    # perf tells how its clock and real time compare only for a clock that has a name
    real = (aligned.start_real - aligned.start_monotonic) / 1e9
    assert real == pytest.approx(time.time() - time.monotonic(), abs=1.0)


def test_scheduler_and_system_calls(ledger: dict[str, Path], perf: Perf, tmp_path: Path) -> None:
    # GIVEN everything that tells of waits, as an ordinary user of perf would record it
    events = [
        "cpu-clock",
        "sched:sched_switch",
        "sched:sched_waking",
        "raw_syscalls:sys_enter",
        "raw_syscalls:sys_exit",
    ]
    file = perf(["-k", "mono", "-g", "-e", ",".join(events)], [ledger["fp"]])

    # WHEN it is imported
    recording = import_perf_data(file, tmp_path / "recording")

    # THEN perf's counts of each event are ours
    counted = subprocess.run(["perf", "script", "-i", file, "-F", "event"], capture_output=True, text=True, check=True)
    expected = {event: counted.stdout.count(event) for event in events[1:]}
    kinds = recording.column("events", "kind").tolist()
    assert kinds.count(EventKind.SWITCH) == expected["sched:sched_switch"] > 5
    assert kinds.count(EventKind.SYSCALL_ENTER) == expected["raw_syscalls:sys_enter"] > 20
    assert kinds.count(EventKind.SYSCALL) == expected["raw_syscalls:sys_exit"]

    # AND the sleeps of the clerk are switches inside of clock_nanosleep, with the stack that led there
    rows = recording.table("events").to_pylist()
    sleeps = [row for row in rows if row["kind"] == EventKind.SWITCH and row["detail"] == 230 and row["result"] == 1]
    assert len(sleeps) == 7
    assert all(row["stack"] >= 0 for row in sleeps)
