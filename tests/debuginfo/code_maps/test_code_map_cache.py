"""The cache may be damaged, shared, full or forbidden: the answer stays the same."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.debuginfo.building import Builder
from tests.debuginfo.reading import addresses_within, chains
from whyperf.debuginfo.code_maps import cache
from whyperf.debuginfo.describe import describe


@pytest.fixture
def program(build: Builder) -> Path:
    return build.c("-O2", "-g", "-Wl,--build-id=sha1")


def _entry(folder: Path) -> Path:
    [entry] = folder.iterdir()
    return entry


def test_a_second_look_reads_nothing_but_the_cache(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN
    first = describe(str(program), cache=tmp_path / "cache")
    addresses = addresses_within(first)
    monkeypatch.setattr("whyperf.debuginfo._debuginfo.extract", None)

    # WHEN
    second = describe(str(program), cache=tmp_path / "cache")

    # THEN
    assert second.debug == "full"
    assert chains(second, addresses) == chains(first, addresses)
    for name, column in first.code.columns().items():
        assert np.array_equal(column, second.code.columns()[name]), name


def test_entries_are_private(program: Path, tmp_path: Path) -> None:
    describe(str(program), cache=tmp_path / "new" / "cache")
    assert stat.S_IMODE(_entry(tmp_path / "new" / "cache").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new" / "cache").stat().st_mode) == 0o700


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_entries_are_made_anew(program: Path, tmp_path: Path, data: st.DataObject) -> None:
    # GIVEN an entry with a flipped byte, or cut short
    folder = tmp_path / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    expected = describe(str(program), cache=folder)
    entry = _entry(folder)
    content = bytearray(entry.read_bytes())
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(0, 24))
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    entry.unlink()  # never written to in place: the first reader still has it mapped
    entry.write_bytes(content)

    # WHEN
    found = describe(str(program), cache=folder)

    # THEN
    assert found.functions.names == expected.functions.names
    assert found.debug == "full"


@pytest.mark.parametrize("obstacle", ["file in the way", "full disk"])
def test_without_a_usable_folder_nothing_is_lost(
    program: Path, tmp_path: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN
    folder = tmp_path / "cache"
    if obstacle == "file in the way":
        folder.write_text("not a folder")
    else:
        full = os.open("/dev/full", os.O_WRONLY)
        monkeypatch.setattr(cache.tempfile, "mkstemp", lambda **_: (os.dup(full), str(tmp_path / "aside")))

    # THEN
    assert describe(str(program), cache=folder).debug == "full"


def test_another_version_is_not_read(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(str(program), cache=tmp_path / "cache")
    key = _entry(tmp_path / "cache").stem
    assert cache.load(tmp_path / "cache", key) is not None
    monkeypatch.setattr(cache, "_VERSION", cache._VERSION + 1)
    assert cache.load(tmp_path / "cache", key) is None


def test_a_changed_file_without_build_id_is_read_again(build: Builder, tmp_path: Path) -> None:
    # GIVEN
    path = tmp_path / "program"
    shutil.copy(build.c("-O2", "-g", "-Wl,--build-id=none"), path)
    before = describe(str(path), cache=tmp_path / "cache")

    # WHEN
    time.sleep(0.01)
    shutil.copy(build.cxx("-O2", "-g", "-Wl,--build-id=none"), path)
    after = describe(str(path), cache=tmp_path / "cache")

    # THEN
    assert before.function_at("mill_grind") and not after.function_at("mill_grind")
    assert after.function_at("shop::Clerk::serve")


def test_symbols_are_not_cached(build: Builder, tmp_path: Path) -> None:
    # Debug symbols may be installed at any time.
    describe(str(build.c("-O2")), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_the_oldest_entries_go_when_the_folder_grows_large(
    build: Builder, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN room for one entry
    folder = tmp_path / "cache"
    describe(str(program), cache=folder)
    old = _entry(folder)
    os.utime(old, (1, 1))
    other = build.cxx("-O2", "-g")

    # WHEN
    monkeypatch.setattr(cache, "_BYTES_MAX", 1 << 20)
    old.write_bytes(b"x" * (1 << 20))
    os.utime(old, (1, 1))
    describe(str(other), cache=folder)

    # THEN
    assert not old.exists() and _entry(folder)


def _worker(arguments: tuple[str, str]) -> int:
    path, folder = arguments
    return len(describe(path, cache=Path(folder)).functions)


def test_processes_share_it(program: Path, tmp_path: Path) -> None:
    # GIVEN eight processes that all find it empty
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        # WHEN
        counts = pool.map(_worker, [(str(program), str(tmp_path / "cache"))] * 24, chunksize=1)

    # THEN
    assert len(set(counts)) == 1 and counts[0] > 5
    assert _entry(tmp_path / "cache").suffix == ".codemap"


def test_the_default_folder_follows_the_convention(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.default_folder() == tmp_path / "whyperf" / "debuginfo"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.default_folder() == Path("/home/someone/.cache/whyperf/debuginfo")
