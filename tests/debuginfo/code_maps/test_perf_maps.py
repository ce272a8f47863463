"""Maps that just-in-time compilers write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.debuginfo.code_maps.perf_map import PerfMap, parse_perf_map, read_perf_map

TEXT = """\
7f0000001000 40 LazyCompile:~add /app/main.js:3
7f0000001040 10 py::fib:/app/fib.py
not a line
7f0000002000
7f0000003000 zz odd
7f0000004000 0 empty
7f0000001040 20 py::fib2:/app/fib.py
7f00000010
"""


def test_lines_are_read_and_nonsense_is_passed_over() -> None:
    found = parse_perf_map(TEXT).resolve(
        [0x7F0000000FFF, 0x7F0000001000, 0x7F000000103F, 0x7F000000105F, 0x7F0000001060]
    )
    # Which of V8's compilers made the code is left out.
    first, second = "LazyCompile:add /app/main.js:3", "py::fib2:/app/fib.py"
    assert found == [None, first, first, second, None]


def test_the_map_of_a_process_is_found() -> None:
    # GIVEN
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    path.write_text("1000 10 jitted\n")
    try:
        # WHEN
        found = read_perf_map(os.getpid())
    finally:
        path.unlink()

    # THEN
    assert found is not None and found.resolve(np.array([0x1008], np.uint64)) == ["jitted"]
    assert read_perf_map(os.getpid()) is None


def planted(pid: int, make: Callable[[Path], object]) -> PerfMap | None:
    path = Path(f"/tmp/perf-{pid}.map")
    make(path)
    try:
        return read_perf_map(pid)
    finally:
        path.unlink()


def written(path: Path, owner: int) -> None:
    path.write_text("1000 10 planted\n")
    os.chown(path, owner, owner)


@pytest.mark.skipif(os.geteuid() != 0, reason="playing another user needs root")
def test_only_the_maps_of_root_and_of_the_processs_own_user_are_believed() -> None:
    somebody, somebody_else = 65533, 65532
    # GIVEN a process that is gone: only root (who reads) can have written its map for sure
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    assert planted(int(gone.stdout), lambda path: written(path, somebody)) is None
    assert planted(int(gone.stdout), lambda path: written(path, 0)) is not None
    # GIVEN a process of an ordinary user that lives
    with subprocess.Popen(["sleep", "60"], user=somebody) as living:
        assert planted(living.pid, lambda path: written(path, somebody)) is not None
        assert planted(living.pid, lambda path: written(path, somebody_else)) is None
        living.kill()


def test_only_regular_files_are_maps(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1000 10 secret\n")
    assert planted(os.getpid(), lambda path: path.symlink_to(tmp_path / "secret")) is None
    assert planted(os.getpid(), os.mkfifo) is None


entries = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=12)


@settings(deadline=None)
@given(entries)
def test_newer_code_hides_older(regions: list[tuple[int, int]]) -> None:
    # GIVEN
    perf_map = parse_perf_map("\n".join(f"{start:x} {size:x} f{i}" for i, (start, size) in enumerate(regions)))

    # WHEN
    found = perf_map.resolve(np.arange(100, dtype=np.uint64))

    # THEN every address belongs to what was written there last
    expected: list[str | None] = [None] * 100
    for i, (start, size) in enumerate(regions):
        expected[start : start + size] = [f"f{i}"] * size
    assert found == expected
