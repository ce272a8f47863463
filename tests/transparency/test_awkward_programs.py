"""Programs that do what breaks samplers print the same and end the same, watched at 1000 Hz or not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from bench.watching import compiled, unwatched, watched

from tests.patience import PATIENCE_S

THREADS = "-pthread"

CASES = {
    "churn of processes and threads": ("churn.c", ["3000"]),
    "storm of signals": ("storm.c", ["20000"]),
    "all signals blocked, sigwait, signalfd": ("masks.c", []),
    "strict seccomp": ("seccomp.c", ["strict"]),
    "seccomp filter": ("seccomp.c", ["filter"]),
    "coroutines on tiny stacks": ("coroutines.c", []),
    "alternate signal stack": ("altstack.c", []),
    "closed descriptors": ("descriptors.c", []),
    "waits that signals would cut short": ("waiting.c", []),
}


@pytest.mark.parametrize("case", CASES)
def test_behaves_the_same(case: str, programs: Path, tmp_path: Path, recording: Path) -> None:
    # GIVEN a program with awkward habits
    source, arguments = CASES[case]
    command = [str(compiled(source, programs, THREADS)), *arguments]
    plain = unwatched(command, tmp_path)
    # WHEN it runs under the sampler
    under = watched(command, tmp_path, recording)
    # THEN nobody can tell, and it was sampled
    assert under.seen == plain
    assert plain.status in {0, 5, 6}, plain
    assert under.samples > 0


def test_threaded_cpp_with_exceptions(programs: Path, tmp_path: Path, recording: Path) -> None:
    command = [str(compiled("threads.cc", programs, "-std=c++17", THREADS, compiler="g++"))]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 0
    assert under.samples > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot and setuid need root")
@pytest.mark.parametrize("way", ["chroot", "setuid"])
def test_confined_programs(way: str, programs: Path, tmp_path: Path, recording: Path) -> None:
    jail = tmp_path / "jail"
    jail.mkdir()
    command = [str(compiled("confined.c", programs, THREADS)), way, str(jail)]
    plain = unwatched(command, tmp_path)
    under = watched(command, tmp_path, recording)
    assert under.seen == plain
    assert plain.status == 3


def test_daemon_goes_on_and_nobody_waits_for_it_forever(programs: Path, tmp_path: Path, recording: Path) -> None:
    # GIVEN a program that leaves a background process and ends with status 4
    result = tmp_path / "result"
    command = [str(compiled("daemon.c", programs, THREADS)), str(result)]
    # WHEN it is recorded
    under = watched(command, tmp_path, recording, timeout=PATIENCE_S)
    # THEN its status comes through and the daemon finishes its work
    assert (under.seen.status, under.seen.stdout) == (4, "parent leaves\n")
    end = time.monotonic() + PATIENCE_S
    while not (result.exists() and result.read_text() == "done\n"):
        assert time.monotonic() < end, "the daemon did not finish"
        time.sleep(0.05)


@pytest.mark.parametrize("limit", ["ulimit -v 150000", "ulimit -s 256", "ulimit -l 0", "ulimit -i 0"])
def test_little_memory_is_no_reason_to_fail(limit: str, programs: Path, tmp_path: Path, recording: Path) -> None:
    # GIVEN limits under which the sampler itself may not be able to work
    leaf = compiled("leaf.c", programs)
    command = ["/bin/sh", "-c", f"{limit}; {leaf}"]
    # THEN the program does
    assert watched(command, tmp_path, recording).seen == unwatched(command, tmp_path)
