"""What failed on a starved machine is counted, whether a test fails, its fixture, or the whole process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.cpu_quota import cpu_quota
from bench.passes import Tally, read, results_of, write

TESTS = """
import os, pytest

pytestmark = pytest.mark.process

@pytest.fixture
def broken():
    raise ValueError

def test_fine(): pass
def test_wrong(): assert False
def test_without_fixture(broken): pass
def test_skipped(): pytest.skip("not here")
"""
CPU = min(os.sched_getaffinity(0))


def written(folder: Path, text: str) -> str:
    (folder / "test_it.py").write_text(text)
    return str(folder / "test_it.py")


def test_failures_are_counted_and_their_output_kept(tmp_path: Path) -> None:
    file, logs = written(tmp_path, TESTS), tmp_path / "logs"
    tally = Tally()
    for _ in range(2):
        tally.add(results_of(file, CPU, None, logs))
    assert (tally.runs, tally.tests) == (2, 3)
    assert tally.failed == {f"{file}::test_wrong": 2, f"{file}::test_without_fixture": 2}
    assert len(list(logs.iterdir())) == 2


def test_what_ran_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "passes.json"
    assert read(file) == {}
    ran = {"tests/a.py": Tally(2, 3, {"tests/a.py::test_b": 1, "tests/a.py::test_c": 2}), "tests/d.py": Tally(1, 1)}
    write(file, {"crowd": {**ran, "tests/later.py": Tally()}, "quarter": {}})
    assert read(file) == {"crowd": ran, "quarter": {}}


def test_a_process_that_dies_has_failed(tmp_path: Path) -> None:
    file = written(tmp_path, f"{TESTS}\ndef test_dies(): os._exit(1)\n")
    assert results_of(file, CPU, None, None) == {f"{file}: no result": False}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a control group")
def test_it_runs_in_its_group(tmp_path: Path) -> None:
    text = 'def test_group(): assert "whyperf-bench" in open("/proc/self/cgroup").read()\n'
    file = written(tmp_path, f"import pytest\npytestmark = pytest.mark.process\n{text}")
    with cpu_quota(0.5, "passes") as group:
        assert results_of(file, CPU, group, None) == {f"{file}::test_group": True}
    assert not group.exists()
