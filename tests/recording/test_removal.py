"""Only what whyperf wrote is ever removed, whatever else carries the names of its files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.recording.made import make_recording
from whyperf.collect.setup import folder as folders
from whyperf.collect.setup.start import start_of, write_start
from whyperf.errors import WhyperfError
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed.manifest import Sampling
from whyperf.seal.opening import open_recording

WEB_PROJECT = {"name": "Shop", "short_name": "Shop", "icons": [], "start_url": "/"}
EXTENSION = {"manifest_version": 3, "name": "x", "version": "1", "format": 1, "command": ["x"]}


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def replaced(path: Path) -> None:
    folders.create(path, force=True).release()


def refused(path: Path, words: str) -> None:
    before = everything(path)
    with pytest.raises(WhyperfError, match=words):
        replaced(path)
    assert everything(path) == before


@pytest.mark.parametrize("manifest", [json.dumps(WEB_PROJECT), json.dumps(EXTENSION), "", "[]", "{"])
def test_a_project_with_a_manifest_of_its_own_is_left_alone(tmp_path: Path, manifest: str) -> None:
    project = tmp_path / "shop"
    (project / "src").mkdir(parents=True)
    (project / "src" / "index.js").write_text("years of work")
    (project / "manifest.json").write_text(manifest)
    refused(project, "is not a recording, so it is left alone")


def test_a_project_with_a_start_json_of_its_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "photos" / "raw").mkdir(parents=True)
    (tmp_path / "photos" / "raw" / "start.json").write_text('{"format": 1}')
    (tmp_path / "photos" / "raw" / "0001.nef").write_bytes(b"a photo")
    refused(tmp_path / "photos", "is not a recording, so it is left alone")


def test_a_recording_is_replaced(tmp_path: Path) -> None:
    make_recording(tmp_path / "rec")
    (tmp_path / "rec" / "stdout").write_text("what it printed")
    assert len(list((tmp_path / "rec").iterdir())) > len(TABLES) / 2
    replaced(tmp_path / "rec")
    assert {path.name for path in (tmp_path / "rec").rglob("*")} == {"raw", "lock"}


def test_an_open_recording_is_replaced(tmp_path: Path) -> None:
    abandoned(tmp_path / "rec")
    replaced(tmp_path / "rec")
    assert {path.name for path in (tmp_path / "rec").rglob("*")} == {"raw", "lock"}


def test_an_open_recording_of_counts_is_replaced(tmp_path: Path) -> None:
    abandoned(tmp_path / "rec")
    for name in ("counters/7.0.counts", "plans/abc.plan", "before-ready", "before-ready.json"):
        (tmp_path / "rec" / "raw" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "rec" / "raw" / name).touch()
    replaced(tmp_path / "rec")
    assert {path.name for path in (tmp_path / "rec").rglob("*")} == {"raw", "lock"}
    # But not one whose folder holds something else
    (tmp_path / "rec" / "raw" / "plans").mkdir()
    (tmp_path / "rec" / "raw" / "plans" / "for the summer").touch()
    refused(tmp_path / "rec", "is not a recording")


def test_a_recording_whose_recorder_died_at_once_is_replaced(tmp_path: Path) -> None:
    folders.create(tmp_path / "rec", force=False).release()
    replaced(tmp_path / "rec")
    assert (tmp_path / "rec" / "raw" / "lock").exists()


def add_notes(folder: Path) -> None:
    (folder / "notes.txt").write_text("what I found")


def add_folder(folder: Path) -> None:
    (folder / "pictures").mkdir()


def add_link(folder: Path) -> None:
    (folder / "stdout").symlink_to(folder.parent / "elsewhere")


def add_table(folder: Path) -> None:
    (folder / "customers.parquet").write_bytes(b"PAR1")


def add_to_raw(folder: Path) -> None:
    (folder / "raw").mkdir(exist_ok=True)
    (folder / "raw" / "0001.nef").write_bytes(b"a photo")


@pytest.mark.parametrize("add", [add_notes, add_folder, add_link, add_table, add_to_raw])
@pytest.mark.parametrize("sealed", [True, False])
def test_what_others_put_into_a_recording_keeps_all_of_it(
    tmp_path: Path, add: Callable[[Path], None], sealed: bool
) -> None:
    rec = tmp_path / "rec"
    (tmp_path / "elsewhere").write_text("precious")
    make_recording(rec) if sealed else abandoned(rec)
    add(rec)
    refused(rec, "was not written by whyperf")
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_links_are_not_followed(tmp_path: Path) -> None:
    make_recording(tmp_path / "rec")
    (tmp_path / "link").symlink_to(tmp_path / "rec")
    refused(tmp_path / "link", "is not a recording, so it is left alone")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "manifest.json").symlink_to(tmp_path / "rec" / "manifest.json")
    refused(tmp_path / "half", "is not a recording, so it is left alone")


def test_a_manifest_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "x" / "manifest.json")
    with pytest.raises(WhyperfError, match="left alone"):
        replaced(tmp_path / "x")


@pytest.mark.parametrize("manifest", [WEB_PROJECT, None])
def test_looking_at_a_folder_changes_nothing_in_it(tmp_path: Path, manifest: object) -> None:
    # GIVEN a folder of photos with a folder `raw` in it, and perhaps a manifest.json
    (tmp_path / "photos" / "raw").mkdir(parents=True)
    (tmp_path / "photos" / "raw" / "0001.nef").write_bytes(b"a photo")
    if manifest is not None:
        (tmp_path / "photos" / "manifest.json").write_text(json.dumps(manifest))
    before = everything(tmp_path)
    # WHEN somebody takes it for a recording, THEN it is as it was
    with pytest.raises(WhyperfError, match=r"is not a recording|names no format"):
        open_recording(tmp_path / "photos")
    assert everything(tmp_path) == before


def test_opening_a_sealed_recording_removes_only_its_own_log(tmp_path: Path) -> None:
    # GIVEN a sealer that was killed before it removed the log
    make_recording(tmp_path / "rec")
    (tmp_path / "rec" / "raw").mkdir()
    (tmp_path / "rec" / "raw" / "log-000001").write_bytes(b"WPC1")
    open_recording(tmp_path / "rec")
    assert not (tmp_path / "rec" / "raw").exists()
    # GIVEN photos where the log would be
    add_to_raw(tmp_path / "rec")
    open_recording(tmp_path / "rec")
    assert (tmp_path / "rec" / "raw" / "0001.nef").read_bytes() == b"a photo"


def abandoned(path: Path) -> None:
    """An open recording whose recorder was killed."""
    folder = folders.create(path, force=False)
    write_start(folder.raw, start_of(("./tool",), {}, Sampling(200.0, "cpu", "cpu-timer"), "run", 0))
    (folder.raw / "rings").write_bytes(b"rings")
    folder.release()
