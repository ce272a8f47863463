"""Folders in places that all users share: what another user planted there is never written to and never believed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from whyperf.collect._tracer import Tracer, unpin
from whyperf.collect.dependences import tool_build
from whyperf.collect.dependences.valgrind import find_valgrind
from whyperf.collect.sampling.sampler import tables_folder
from whyperf.collect.tracer import holder
from whyperf.collect.tracer.flight import dumping, starting
from whyperf.collect.tracer.flight.state import read_flight
from whyperf.debuginfo.code_maps import cache
from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.private_folders import private_folder

pytestmark = pytest.mark.process

SOMEBODY, ELSE = 65533, 65532
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="playing two other users needs root")


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder like /tmp; every part of the way to it is root's."""
    folder = Path("/tmp") / f"whyperf-shared-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    folder.chmod(0o1777)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def as_somebody(ask: Callable[[], object]) -> str:
    """What is answered to another user; of a WhyperfError its sentence."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(SOMEBODY, SOMEBODY, SOMEBODY)
        os.setresuid(SOMEBODY, SOMEBODY, SOMEBODY)
        try:
            said = str(ask())
        except WhyperfError as error:
            said = error.sentence
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def planted(path: Path) -> Path:
    path.mkdir(parents=True)
    os.chown(path, ELSE, ELSE)
    path.chmod(0o777)
    return path


@needs_root
def test_ones_own_folder_in_a_shared_place(shared: Path) -> None:
    assert as_somebody(lambda: private_folder(shared / "a" / "b")) == str(shared / "a" / "b")
    made = (shared / "a" / "b").stat()
    assert (made.st_uid, made.st_mode & 0o777) == (SOMEBODY, 0o700)
    assert as_somebody(lambda: private_folder(shared / "a" / "b")) == str(shared / "a" / "b")


@needs_root
def test_a_planted_folder_is_refused(shared: Path) -> None:
    planted(shared / "a")
    assert "belongs to another user" in as_somebody(lambda: private_folder(shared / "a"))
    assert "belongs to another user" in as_somebody(lambda: private_folder(shared / "a" / "b"))
    assert not list((shared / "a").iterdir())


@needs_root
def test_a_folder_that_others_may_rename_is_refused(shared: Path) -> None:
    (shared / "a").mkdir()
    (shared / "a").chmod(0o777)
    assert "can be changed by others" in as_somebody(lambda: private_folder(shared / "a" / "b"))


@needs_root
def test_a_planted_link_is_refused(shared: Path) -> None:
    own = shared / "own"
    own.mkdir()
    os.chown(own, SOMEBODY, SOMEBODY)
    (shared / "a").symlink_to(own)
    os.chown(shared / "a", ELSE, ELSE, follow_symlinks=False)
    assert "belongs to another user" in as_somebody(lambda: private_folder(shared / "a" / "b"))
    assert not list(own.iterdir())
    os.chown(shared / "a", SOMEBODY, SOMEBODY, follow_symlinks=False)
    assert as_somebody(lambda: private_folder(shared / "a" / "b")) == str(shared / "a" / "b")


@needs_root
def test_the_tracer_truncates_nothing_through_a_planted_link(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a folder where the tracer keeps its lock, planted with a link to a file of the victim's
    victims = shared / "thesis.txt"
    victims.write_text("years of work")
    os.chown(victims, SOMEBODY, SOMEBODY)
    (planted(shared / "state") / "tracer").symlink_to(victims)
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(shared / "state"))
    assert "belongs to another user" in as_somebody(lambda: holder.alone("me").__enter__())
    assert victims.read_text() == "years of work"


def test_the_tracers_lock_is_not_opened_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(tmp_path / "state"))
    (private_folder(tmp_path / "state") / "tracer").symlink_to(tmp_path / "thesis.txt")
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(WhyperfError, match="is a link"), holder.alone("me"):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@needs_root
@pytest.mark.parametrize("asked", [cache.default_folder, tables_folder])
def test_a_planted_cache_is_not_believed(
    shared: Path, asked: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(shared / "cache" / "whyperf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
    assert "belongs to another user" in as_somebody(asked)


@needs_root
def test_a_planted_valgrind_tool_is_not_believed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a cache in which somebody else has put a tool for the installed Valgrind
    (shared / "bin").mkdir()
    (shared / "bin" / "valgrind").write_text("#!/bin/sh\necho valgrind-3.25.1\n")
    (shared / "bin" / "valgrind").chmod(0o755)
    planted(shared / "cache" / "whyperf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "cache"))
    tools = tool_build.tool_folder("3.25.1")
    tools.mkdir(parents=True)
    (tools / f"{tool_build.TOOL}-{tool_build._machine()}-linux").touch()
    assert tool_build.is_built(tools)
    # THEN it is not taken for the one that whyperf builds
    assert "belongs to another user" in as_somebody(lambda: find_valgrind({"PATH": str(shared / "bin")}))


@pytest.fixture
def open_bpffs(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pins would be, below a bpf file system in which all users may make folders."""
    monkeypatch.setattr(holder, "_BPFFS", shared)
    monkeypatch.setenv("WHYPERF_TRACE_FOLDER", str(shared / "state"))
    return shared / "whyperf-state"


ASK_FOR_PINS: list[Callable[[], object]] = [
    holder.rings_are_pinned,
    holder.pins_folder,
    lambda: holder.alone("me").__enter__(),
    read_flight,
    dumping.open_pinned,
    starting.stop,
]


@needs_root
@pytest.mark.parametrize("ask", ASK_FOR_PINS)
def test_planted_pins_are_neither_believed_nor_removed(open_bpffs: Path, ask: Callable[[], object]) -> None:
    (planted(open_bpffs) / "link-0").touch()
    assert "belongs to another user" in as_somebody(ask)
    assert (open_bpffs / "link-0").exists()


@needs_root
def test_a_planted_link_to_pins_is_refused(open_bpffs: Path, shared: Path) -> None:
    (shared / "own").mkdir()
    os.chown(shared / "own", SOMEBODY, SOMEBODY)
    open_bpffs.symlink_to(shared / "own")
    os.chown(open_bpffs, ELSE, ELSE, follow_symlinks=False)
    assert "belongs to another user" in as_somebody(holder.rings_are_pinned)


@needs_root
def test_ones_own_pins_in_an_open_bpffs(open_bpffs: Path) -> None:
    assert as_somebody(holder.rings_are_pinned) == "False"
    open_bpffs.mkdir(mode=0o700)
    os.chown(open_bpffs, SOMEBODY, SOMEBODY)
    assert as_somebody(holder.rings_are_pinned) == "True"


@needs_root
@pytest.mark.parametrize("mode", [0o700, 0o770, 0o707])
def test_the_tracer_itself_opens_and_removes_only_ones_own_pins(shared: Path, mode: int) -> None:
    # GIVEN folders of another user, and of one's own that others may write to
    for name, owner in (("others", ELSE), ("own", SOMEBODY)):
        (planted(shared / name) / "link-0").touch()
        os.chown(shared / name, owner, owner)
        (shared / name).chmod(0o777 if owner == ELSE else mode)
    # THEN the tracer refuses them by itself; in one's own it finds no tracer, and removes nothing outside of bpffs
    refused = {shared / "others": True, shared / "own": mode != 0o700}
    for folder, is_refused in refused.items():
        opened = as_somebody(lambda folder=folder: Tracer.pinned(folder, shared))  # type: ignore[misc]
        assert ("belongs to another user or can be changed by others" in opened) == is_refused, opened
        removed = as_somebody(lambda folder=folder: unpin(folder))  # type: ignore[misc]
        assert removed.startswith("PermissionError" if is_refused else "OSError(22"), removed
        assert (folder / "link-0").exists()


def test_a_cache_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.default_folder() == tmp_path / "file" / "whyperf" / "debuginfo"
