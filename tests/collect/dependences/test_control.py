"""Activations, threads and signals, however control goes."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.collect.dependences.tool_run import plan_text, record
from whyperf.recording.schemas.deep_tables import RegionKind

TARGET = Path(__file__).parent / "targets" / "control.c"
NAMES = ["main", "jumps", "jumper", "leaf", "tail", "raises", "handler", "threads", "worker", "escapes", "escape"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("control") / "control"
    flags = ["-O2", "-no-pie"]
    subprocess.run(["gcc", *flags, TARGET, "-o", path, "-lpthread"], check=True)
    return path


@pytest.mark.parametrize("mode", ["entries", "zoom", "pass"])
def test_who_called_whom(program: Path, mode: str) -> None:
    # WHEN a program that uses longjmp, tail calls, signals and threads is recorded
    stream = record(program, plan_text(program, dict.fromkeys(NAMES, mode)))
    regions = stream.decode().regions

    # THEN each activation is below its caller
    def name(region: int) -> str:
        row = regions[region]
        if region == 0:
            return "ROOT"
        return NAMES[row["place"]] if row["kind"] == RegionKind.ACTIVATION else RegionKind(int(row["kind"])).name

    calls = Counter((name(int(row["parent"])), name(number)) for number, row in enumerate(regions) if number)
    assert calls == {
        ("ROOT", "THREAD"): 1, ("THREAD", "main"): 1, ("main", "jumps"): 1, ("jumps", "jumper"): 1,
        ("jumper", "jumper"): 3, ("jumps", "leaf"): 1, ("main", "tail"): 1, ("tail", "leaf"): 1, ("main", "raises"): 1,
        ("THREAD", "SIGNAL"): 2, ("SIGNAL", "handler"): 1, ("main", "escapes"): 1, ("SIGNAL", "escape"): 1,
        ("escapes", "leaf"): 1, ("handler", "leaf"): 1, ("raises", "leaf"): 1,
        ("main", "threads"): 1, ("threads", "THREAD"): 3, ("THREAD", "worker"): 3, ("worker", "leaf"): 300,
    }  # fmt: skip
    assert stream.complete and stream.threads == 4 and not stream.unsupported


def test_instructions_are_those_of_the_thread_and_all_below(program: Path) -> None:
    stream = record(program, plan_text(program, dict.fromkeys(NAMES, "entries")))
    regions = stream.decode().regions
    activation = regions["kind"] == RegionKind.ACTIVATION
    thread = regions["kind"] == RegionKind.THREAD
    # THEN all instructions belong to a thread, a worker's loop has a hundred calls, and a leaf has a few instructions
    assert regions["instructions"][thread].sum() == stream.instructions
    leaves = regions["instructions"][activation & (regions["place"] == NAMES.index("leaf"))]
    assert set(leaves.tolist()) == {2}
    workers = regions["instructions"][activation & (regions["place"] == NAMES.index("worker"))]
    assert len(set(workers.tolist())) == 1 and 600 < workers[0] < 2000
    # AND callers have at least as many as what they called
    inner = regions[activation]
    outer = regions[inner["parent"]]
    called = outer["kind"] == RegionKind.ACTIVATION
    assert (outer["instructions"][called] >= inner["instructions"][called]).all()


def test_instructions_are_counted_as_callgrind_counts_them(program: Path) -> None:
    stream = record(program, plan_text(program, {"main": "entries"}))
    said = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program)],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    collected = int(next(line for line in said.splitlines() if "Collected" in line).split()[-1])
    assert abs(stream.instructions - collected) < 0.02 * collected
