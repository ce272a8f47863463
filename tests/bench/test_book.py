"""The speed book made of stored results."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from bench.speed import book, deep, growth, overhead, sizes, store
from bench.speed.anonymous import AnonymousMemory
from bench.speed.fresh import FailedStepError, Spent, command_measured
from bench.speed.growth import Point
from bench.speed.meter import Cost, Inside
from bench.speed.sizes import Line
from bench.speed.tools import NONE

from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_without_results_there_is_only_the_head() -> None:
    assert book.section().startswith("## Speed book\n")
    assert "|" not in book.section()


def test_overhead_is_told_beside_the_plain_run_and_failures_in_words() -> None:
    # GIVEN three rounds in which our tool cost a tenth, and gprof could not take part
    inside = Inside(0.001, 6.0, 4.0, 1, 2_000_000)
    rounds = [
        {
            NONE.name: asdict(Cost(seconds, seconds, seconds, 0, 0)),
            "whyperf": asdict(Cost(1.1 * seconds, seconds, 3 * seconds, 150_000_000, 80_000, inside)),
        }
        for seconds in (1.0, 2.0, 4.0)
    ]
    store.write(overhead.PART, "redis", {"rounds": rounds, "problems": {"gprof": "needs a rebuild"}})
    # WHEN the tables are made
    lines = overhead.tables().splitlines()
    # THEN each measure has its row, the tools that were not asked have no column
    rows = [line for line in lines if line.startswith("| redis |")]
    assert rows[0] == "| redis | 2.00 s | +10.0% [+10.0, +10.0] | needs a rebuild |"
    assert rows[1] == "| redis | 2.00 s | +0.0% [+0.0, +0.0] | needs a rebuild |"
    assert rows[2] == "| redis | 2.00 s | 3.0 times [3.0, 3.0] | needs a rebuild |"
    assert rows[3] == "| redis | 150 MB, 80 kB | needs a rebuild |"
    assert rows[4] == "| redis | whyperf | 0.100% | 6.0 us | 4.0 us | 3 | 2 MB |"
    assert len(rows) == 5


def test_growth_says_whether_it_is_linear() -> None:
    for exponent, words in ((1, "linear or less"), (2, "**more than linear**")):
        points = [
            Point(f"{times}x", 1000 * times, 100 * times, Spent(1.0, 1.0 + times**exponent, 2 * 10**8, {}, held))
            for times in (1, 10, 100)
            for held in (10**8 + 5000 * times,)
        ]
        store.write(growth.PART, "values", {"points": [asdict(one) for one in points]})
        text = growth.tables()
        assert words in text
        assert "Anonymous memory: 5.0 bytes more for each" in text
        assert "| 100x | 100,000 |" in text
        assert "| 200 MB | 100 MB | 1,005 |" in text


def test_sizes_say_which_part_of_them_was_measured() -> None:
    spent = Spent(1.5, 2.5, 3_000_000_000, {"vertices": 12345, "ms a walk": 1.25}, 400_000_000)
    store.write(sizes.PART, "argus", {"lines": [asdict(Line("graph", "12 million events", spent, 0.05))]})
    (row,) = [one for one in sizes.tables().splitlines() if "graph" in one]
    assert "12 million events (1/20 of it)" in row
    assert "1.5 s | 2.5 s | 3 GB | 400 MB | 12,345 vertices, 1.25 ms a walk" in row


def test_memory_that_nobody_looked_at_is_not_told() -> None:
    points = [Point(f"{size}x", size, size, Spent(1.0, 1.0 + size, 2 * 10**8)) for size in (1, 10, 100)]
    store.write(growth.PART, "values", {"points": [asdict(one) for one in points]})
    assert "Anonymous memory" not in growth.tables()
    assert "| 200 MB |  |  |" in growth.tables()


def test_anonymous_memory_is_that_of_all_processes_and_without_files(tmp_path: Path) -> None:
    # GIVEN a process and a child that hold 40 MB each, and one of them as much of a file
    (tmp_path / "file").write_bytes(bytes(40_000_000))
    code = f"""
import mmap, os, sys
child = os.fork()
held = bytearray(40_000_000)
held[::4096] = b"x" * len(held[::4096])
if child == 0:
    sys.stdin.read()
    os._exit(0)
mapped = mmap.mmap(os.open({str(tmp_path / "file")!r}, os.O_RDONLY), 0, prot=mmap.PROT_READ)
sum(mapped[::4096])
print(flush=True)
sys.stdin.read()
os.wait()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        # WHEN both are watched until they hold it
        with AnonymousMemory(process.pid) as anonymous:
            process.stdout.readline()
            deadline = time.monotonic() + PATIENCE_S
            while anonymous.peak_bytes < 80_000_000 and time.monotonic() < deadline:
                time.sleep(0.01)
            process.stdin.close()
    # THEN what they hold together is told, the file is not in it
    assert 80_000_000 <= anonymous.peak_bytes < 118_000_000


def test_dependences_are_told_in_times_of_the_plain_run() -> None:
    costs = [
        deep.Cost("native", 0.01, 5_000_000),
        deep.Cost("valgrind --tool=none", 0.5, 50_000_000),
        deep.Cost("sketch", 1.0, 90_000_000, events=100, bytes=250, decode_seconds=0.1),
    ]
    store.write(deep.PART, deep.NAME, {"rounds": 1, "costs": [asdict(one) for one in costs]})
    assert "| sketch | 1 s | 100.0 | 2.00 | 90 MB | 100 |  | 2.50 | 0.10 |" in deep.tables()


def test_stored_results_are_what_is_written_as_json() -> None:
    store.write(sizes.PART, "dump", {"lines": []})
    told = book.stored()
    assert set(told) == {"overhead", "deep", "growth", "sizes"}
    assert told["sizes"]["dump"]["lines"] == []
    assert {"when", "commit", "load"} <= set(told["sizes"]["dump"])


def test_a_command_is_measured_as_a_whole_and_must_end_as_expected() -> None:
    spent = command_measured(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3"], (0, 3))
    assert spent.cpu_s > 0
    assert spent.peak_bytes > 100_000
    with pytest.raises(FailedStepError, match="ended with 7"):
        command_measured(["sh", "-c", "exit 7"], (0,))


def test_memory_of_who_starts_a_command_is_not_the_commands() -> None:
    # GIVEN a process that holds far more than what it starts
    ballast = bytearray(400_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    # THEN that is not counted
    assert command_measured(["true"], (0,)).peak_bytes < 50_000_000
    assert len(ballast) == 400_000_000
