"""A recording's folder, where there is no room for it."""

from __future__ import annotations

import errno
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from whyperf.collect.counts import recorder as counts_recorder
from whyperf.collect.counts import run as counts
from whyperf.collect.runs import runner
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import Program
from whyperf.collect.tracer.flight import dumping
from whyperf.collect.tracer.flight.state import Flight
from whyperf.errors import WhyperfError


def _no_room(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a disk that fills up once the folder was made
    monkeypatch.setattr("whyperf.collect.setup.folder.fcntl.flock", _no_room)
    with pytest.raises(WhyperfError, match="cannot be created: No space left"):
        folders.create(tmp_path / "rec", force=False)
    assert not (tmp_path / "rec").exists()


def test_what_was_there_before_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / "thesis.txt").write_text("mine")
    with pytest.raises(WhyperfError, match="is not a recording"):
        folders.create(tmp_path / "rec", force=True)
    assert (tmp_path / "rec" / "thesis.txt").exists()


def test_a_recording_that_cannot_begin_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a disk without room for the rings
    def no_sampler(*_: Any) -> Any:
        raise WhyperfError("rec cannot be written: No space left on device.", "df -h .")

    monkeypatch.setattr(runner, "check_followable", lambda program: None)
    monkeypatch.setattr(runner, "Sampler", no_sampler)
    with pytest.raises(WhyperfError, match="No space left"):
        runner.record_run(
            Program("/bin/true", ("/bin/true",)),
            tmp_path / "rec",
            lifecycle=Lifecycle(),
            measuring=Measuring(),
            environment={},
        )
    assert not (tmp_path / "rec").exists()


def test_counts_that_cannot_begin_leave_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a disk without room for the plans of what is counted
    monkeypatch.setattr(counts, "plans_for", lambda files, folder: [tmp_path / "tool.plan"])
    monkeypatch.setattr(counts_recorder, "_linked_or_copied", _no_room)
    with pytest.raises(WhyperfError, match="No space left"):
        counts.record_counts(
            Program("/bin/true", ("/bin/true",)), tmp_path / "rec", lifecycle=Lifecycle(), environment={}
        )
    assert not (tmp_path / "rec").exists()


def test_a_dump_that_cannot_be_written_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a disk that fills up while the rings are written
    monkeypatch.setattr(dumping, "read_flight", lambda: Flight(1 << 20, 99, 0, 0))
    monkeypatch.setattr(dumping, "open_pinned", lambda: Namespace(close=lambda: None))
    monkeypatch.setattr(dumping, "_take", lambda tracer, last_s: dumping._Taken([], b"", 0, 1))
    monkeypatch.setattr(dumping, "_notes", lambda *_: ())
    monkeypatch.setattr(dumping, "RawLogWriter", _no_room)
    with pytest.raises(WhyperfError, match="cannot be written: No space left"):
        dumping.dump(tmp_path / "rec", None, force=False)
    assert not (tmp_path / "rec").exists()


def test_what_would_be_refused_is_known_before(tmp_path: Path) -> None:
    folders.check_creatable(tmp_path / "rec", force=False)
    assert not (tmp_path / "rec").exists()
    with pytest.raises(WhyperfError, match="does not exist"):
        folders.check_creatable(tmp_path / "nowhere" / "rec", force=False)
    folders.create(tmp_path / "rec", force=False).release()
    with pytest.raises(WhyperfError, match="--force replaces it"):
        folders.check_creatable(tmp_path / "rec", force=False)
    folders.check_creatable(tmp_path / "rec", force=True)
    assert (tmp_path / "rec").exists()
