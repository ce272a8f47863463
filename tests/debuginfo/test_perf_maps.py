"""Maps that just-in-time compilers write."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.debuginfo import read_perf_map
from whyperf.debuginfo.perf_map import parse_perf_map

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
