"""Marks of blocks, whatever a process left of them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from whyperf.collect.blocks import marks
from whyperf.collect.blocks.marks import MOST_FILES, read_marks
from whyperf.debuginfo.probes.plan_file import INCREMENT, PATCH, SITE, PatchPlan, PlanFlags

_BUILD_ID = "ab" * 20
_PLAN = PatchPlan(
    _BUILD_ID,
    62,
    PlanFlags.HAS_TRAPS,
    np.zeros(3, PATCH),
    np.zeros(0, np.uint32),
    np.zeros(0, INCREMENT),
    bytes(16),
    np.zeros(0, SITE),
    checksum=7,
)


def content(
    *times: int, build_id: str = _BUILD_ID, checksum: int = 7, ended: int = 0, magic: bytes = b"WPBLOCKS"
) -> bytes:
    """Of jumps that are taken, two passes before they are not."""
    head = struct.pack("<8sII20sIII", magic, 2, len(times), bytes.fromhex(build_id), 20, checksum, ended)
    marks = (struct.pack("<4Q", time, time and time + 1, time and time + 3, 2) for time in times)
    return head + b"".join(marks)


def read(folder: Path, *files: bytes) -> tuple[list[int], bool]:
    for number, file in enumerate(files):
        (folder / f"{number}.marks").write_bytes(file)
    found = read_marks(folder, {_BUILD_ID: _PLAN})
    noted = found.noted.get(_BUILD_ID)
    if noted is None:
        return [], found.is_whole
    entered = noted["entered"].tolist()
    for name, later in (("taken", 1), ("passed", 3)):
        assert noted[name].tolist() == [time and time + later for time in entered]
    return entered, found.is_whole


def test_the_first_process_to_enter_a_block_counts(tmp_path: Path) -> None:
    assert read(tmp_path, content(0, 30, 20), content(5, 10, 0)) == ([5, 10, 20], True)


def test_a_process_that_was_not_looked_at_until_its_end_is_known(tmp_path: Path) -> None:
    assert read(tmp_path, content(1, 2, 3), content(0, 0, 0, ended=1)) == ([1, 2, 3], False)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        content(1, 2, 3)[:30],
        content(1, 2, 3)[:-1],
        content(1, 2),
        content(1, 2, 3, checksum=8),
        content(1, 2, 3, build_id="cd" * 20),
        content(1, 2, 3, magic=b"WPCOUNTS"),
        content(1, 2, 3)[:12] + struct.pack("<I", 1 << 31) + content(1, 2, 3)[16:],
    ],
)
def test_what_does_not_fit_is_passed_over(tmp_path: Path, damaged: bytes) -> None:
    assert read(tmp_path, content(1, 0, 3), damaged) == ([1, 0, 3], True)


def test_where_all_files_are_taken_more_processes_may_have_run(tmp_path: Path) -> None:
    assert read(tmp_path, *[content(1, 2, 3)] * MOST_FILES) == ([1, 2, 3], False)


def test_long_files_are_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = content(1, 2, 3)
    monkeypatch.setattr(marks, "MOST_BYTES", 4 * len(one) - 1)
    assert read(tmp_path, one, one) == ([1, 2, 3], True)
    assert read(tmp_path, one, one, one) == ([1, 2, 3], False)
