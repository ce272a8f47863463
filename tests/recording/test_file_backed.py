"""Large arrays in files: numbers as ever, memory that the kernel can write out, files that leave nothing behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recording.full_disk import full_disk
from whyperf.recording import _file_backed, file_backed
from whyperf.recording.file_backed import large_arrays_in_files

_LARGE = 1 << 20  # bytes


@pytest.fixture(autouse=True)
def _disk() -> None:
    if file_backed._folder_on_disk() is None:
        pytest.skip("no folder for temporary files is on a disk")


def mappings() -> str:
    return os.fsdecode(Path("/proc/self/maps").read_bytes())


def is_in_file(array: np.ndarray) -> bool:
    """Whether a page in its middle belongs to a file's mapping."""
    page = array.ctypes.data + array.nbytes // 2
    for line in mappings().splitlines():
        span, _, _, _, inode, *_ = line.split()
        begin, end = (int(one, 16) for one in span.split("-"))
        if begin <= page < end:
            return inode != "0"
    raise AssertionError("the array is nowhere")


def deleted_files() -> int:
    return mappings().count("(deleted)")


def test_what_exceeds_the_room_in_memory_is_in_files() -> None:
    # GIVEN room for three large arrays
    with large_arrays_in_files(in_memory=3 * _LARGE + 4096):
        # WHEN there are five, and small ones
        large = [np.full(_LARGE // 8, number, np.float64) for number in range(5)]
        small = np.ones(100)
    # THEN the last ones are in files, and all hold what they should
    assert [is_in_file(one) for one in large] == [False, False, False, True, True]
    assert not is_in_file(small)
    assert [float(one.sum()) for one in large] == [number * _LARGE / 8 for number in range(5)]


def test_room_that_is_given_back_is_used_again() -> None:
    with large_arrays_in_files(in_memory=2 * _LARGE):
        first = np.zeros(_LARGE // 8)
        assert is_in_file(np.zeros(_LARGE // 8))
        del first
        assert not is_in_file(np.zeros(_LARGE // 8))


def test_files_are_gone_with_their_arrays() -> None:
    before = deleted_files()
    with large_arrays_in_files(in_memory=0):
        arrays = [np.zeros(_LARGE // 8) for _ in range(3)]
        assert deleted_files() == before + 3
    # also when they end after what they were made in
    del arrays
    assert deleted_files() == before


def test_afterwards_numpy_is_as_before() -> None:
    with large_arrays_in_files(in_memory=0), large_arrays_in_files(in_memory=0):
        assert is_in_file(np.ones(_LARGE))
    assert not is_in_file(np.ones(_LARGE))


def test_the_outer_limit_holds_again_after_an_inner_one() -> None:
    with large_arrays_in_files(in_memory=0):
        with large_arrays_in_files(in_memory=8 * _LARGE):
            assert not is_in_file(np.ones(_LARGE // 8))
        assert is_in_file(np.ones(_LARGE // 8))


def test_a_function_can_be_told_so() -> None:
    @large_arrays_in_files(in_memory=0)
    def make() -> np.ndarray:
        return np.ones(_LARGE)

    assert is_in_file(make()) and is_in_file(make())


_DOINGS: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda a: np.argsort(a, kind="stable"),
    np.unique,
    lambda a: np.where(a > 5, a, -a)[::-1],
    lambda a: np.concatenate((a, a[a > 3])),
    lambda a: np.bincount(np.abs(a)),
    lambda a: a.astype(np.float64).cumsum(),
    lambda a: np.resize(a, 3 * len(a)),
    np.zeros_like,
]


@given(st.integers(1, 200_000), st.integers(0, 2**32 - 1), st.sampled_from(_DOINGS))
@settings(max_examples=40)
def test_numbers_do_not_depend_on_where_they_are(count: int, seed: int, doing: Callable[..., np.ndarray]) -> None:
    plain = np.random.default_rng(seed).integers(-100, 100, count)
    with large_arrays_in_files(in_memory=0):
        backed = np.random.default_rng(seed).integers(-100, 100, count)
        result = doing(backed)
    np.testing.assert_array_equal(result, doing(plain))


def test_an_array_can_grow_and_shrink() -> None:
    with large_arrays_in_files(in_memory=0):
        array = np.arange(_LARGE // 8)
        for length in (_LARGE // 4, 10, _LARGE):
            array.resize(length, refcheck=False)
            assert array[:10].tolist() == list(range(10))
        assert not array[10:].any()


@pytest.mark.process
def test_a_copy_of_the_process_sees_what_there_was() -> None:
    with large_arrays_in_files(in_memory=0):
        array = np.arange(_LARGE)
        child = os.fork()
        if child == 0:
            own = array + 1
            os._exit(0 if own[-1] == _LARGE and is_in_file(own) else 1)
        del array
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.process
def test_memory_serves_where_the_disk_is_full(tmp_path: Path) -> None:
    # GIVEN a disk with room for one array
    with full_disk(tmp_path / "disk", 2 * _LARGE) as folder:
        before = _file_backed.put_arrays_in_files(str(folder), 0)
        try:
            # WHEN three are made
            arrays = [np.ones(_LARGE // 8) for _ in range(3)]
        finally:
            _file_backed.use(*before)
        # THEN the others are in memory, where they would have been anyway
        assert [is_in_file(one) for one in arrays] == [True, False, False]
        assert all(one.all() for one in arrays)
        del arrays


@pytest.mark.process
def test_files_in_memory_are_no_files_on_disk(tmp_path: Path) -> None:
    with full_disk(tmp_path / "memory", _LARGE) as folder:
        assert not _file_backed.is_on_disk(str(folder))
    assert not _file_backed.is_on_disk(str(tmp_path / "nowhere"))


def test_without_a_disk_everything_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_backed, "_folder_on_disk", lambda: None)
    with large_arrays_in_files(in_memory=0):
        assert not is_in_file(np.ones(_LARGE))


def test_nothing_is_left_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not _file_backed.is_on_disk(str(tmp_path)):
        pytest.skip(f"{tempfile.gettempdir()} is in memory")
    monkeypatch.setattr(file_backed, "_folder_on_disk", lambda: str(tmp_path))
    with large_arrays_in_files(in_memory=0):
        assert is_in_file(np.ones(_LARGE))
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [b"relative", b"not-utf-8-\xff"])
def test_any_folder_for_temporary_files_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    if not _file_backed.is_on_disk(str(tmp_path)):
        pytest.skip(f"{tempfile.gettempdir()} is in memory")
    # GIVEN one that is named relative to where whyperf was started, or in bytes that are no text
    given_folder = tmp_path / os.fsdecode(name)
    given_folder.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", given_folder.name)
    # WHEN it is chosen, THEN it is the same one from wherever arrays are made later
    chosen = file_backed._folder_on_disk.__wrapped__()
    monkeypatch.chdir("/")
    assert chosen is not None and Path(chosen).samefile(given_folder)
    monkeypatch.setattr(file_backed, "_folder_on_disk", lambda: chosen)
    with large_arrays_in_files(in_memory=0):
        assert is_in_file(np.ones(_LARGE))
