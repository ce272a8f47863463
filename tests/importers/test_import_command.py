"""`whyperf import` and what comes after it, as users meet it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Whyperf, sentence, whyperf
from tests.importers import imported as ours
from tests.importers.conftest import WAYS, Perf
from tests.shared_cache import SHARED_CACHE
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data import importing
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.recording.sealed.reader import Recording

pytestmark = pytest.mark.process

__all__ = ["whyperf"]  # the fixture

Get = Callable[[str, str], Path]


@pytest.fixture
def run(whyperf: Whyperf) -> Whyperf:
    return lambda *arguments: whyperf(*arguments, environment={"XDG_CACHE_HOME": SHARED_CACHE})


@pytest.mark.parametrize("way", WAYS)
def test_two_imported_recordings_are_diagnosed(
    way: str, recorded: Get, imported: Callable[[str, str], Recording], run: Whyperf
) -> None:
    # GIVEN a good and a bad run, recorded by perf and imported
    good = imported(way, "good")
    done = run("import", str(recorded(way, "bad")), "-o", "bad")
    assert done.returncode == 0, done.stderr
    assert "samples" in done.stderr

    # WHEN they are compared
    done = run("diagnose", str(good.path), "bad", "--json", "-")

    # THEN the function that made the difference comes first, or who calls it and only now does
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["verdict"] == "difference"
    first = verdict["suspects"][0]
    assert "find_in_list" in first["function"] + first["why"], first
    assert "find_in_list" in [suspect["function"] for suspect in verdict["suspects"][:2]]
    assert first["module"] == "ledger" and first["file"].endswith("ledger.c")


def test_info_says_where_it_came_from(recorded: Get, run: Whyperf) -> None:
    run("import", str(recorded("none", "good")), "-o", "good", "-q")

    said = run("info", "good").stdout

    assert "ledger" in said and "perf.data" in said
    assert "without call graphs" in said
    assert "the program ended" in said


def test_a_recording_is_replaced_only_when_forced(recorded: Get, run: Whyperf) -> None:
    file = str(recorded("none", "good"))
    assert run("import", file, "-o", "good").returncode == 0

    assert "--force" in sentence(run("import", file, "-o", "good"), 1)
    assert run("import", file, "-o", "good", "--force").returncode == 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF" + bytes(100), b"2ELIFREP" + bytes(100), b"PERFILE2" + bytes(20)])
def test_what_is_no_perf_data_gets_a_sentence_and_leaves_nothing(content: bytes, run: Whyperf, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(content)

    sentence(run("import", "perf.data", "-o", "out"), 1)

    assert not (tmp_path / "out").exists()


BAD = {
    "nothing": b"",
    "perf.data": b"PERFILE2" + bytes(20),
    "no stacks": b"nothing here\n",
    "collapsed": b"main;read 3 4\n",
    "pprof": b"\x1f\x8b" + bytes(40),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_replaces_no_recording(kind: str, run: Whyperf, tmp_path: Path) -> None:
    # GIVEN a recording
    (tmp_path / "good.txt").write_bytes(b"main;read 30\nmain;write 70\n")
    assert run("import", "good.txt", "-o", "out").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    # WHEN it shall be replaced by what is none
    (tmp_path / "bad").write_bytes(BAD[kind])
    sentence(run("import", "--force", "bad", "-o", "out"), 1)
    # THEN it is still there
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_a_profile_that_turns_out_bad_replaces_no_recording(
    recorded: Get, run: Whyperf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(*_: object) -> None:
        raise WhyperfError("The samples make no sense.")

    (tmp_path / "good.txt").write_bytes(b"main;read 30\n")
    assert run("import", "good.txt", "-o", "out").returncode == 0
    monkeypatch.setattr(importing, "sealed_tables", bad)
    with pytest.raises(WhyperfError, match="make no sense"):
        import_perf_data(recorded("none", "good"), tmp_path / "out", force=True)
    assert Recording(tmp_path / "out").manifest.tables["samples"].rows == 30


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_read(run: Whyperf) -> None:
    assert "nowhere does not exist" in sentence(run("import", "perf.data", "-o", "nowhere/out"), 1)


def test_a_missing_file_gets_a_sentence(run: Whyperf) -> None:
    assert "no file perf.data" in sentence(run("import", "perf.data"), 1)


def test_a_file_cut_short_is_imported_as_far_as_it_goes(recorded: Get, run: Whyperf, tmp_path: Path) -> None:
    whole = recorded("fp", "good").read_bytes()
    (tmp_path / "cut.data").write_bytes(whole[: len(whole) // 2])

    done = run("import", "cut.data", "-o", "cut")

    assert done.returncode == 0, done.stderr
    assert "cut short" in done.stderr
    assert "cut short" in run("info", "cut").stdout


def test_names_survive_the_program_in_perfs_cache(
    ledger: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a recording of a program that is gone since, which perf put into its cache
    if shutil.which("perf") is None:
        pytest.skip("perf is not installed: apt-get install linux-perf")
    program = tmp_path / "passing"
    shutil.copy(ledger["dwarf"], program)
    file, cache = tmp_path / "perf.data", tmp_path / "debug"
    command = ["perf", "--buildid-dir", cache, "record", "-q", "--call-graph", "dwarf", "-o", file, "--", program]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    program.unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    # WHEN it is imported with the cache, and without
    monkeypatch.setenv("PERF_BUILDID_DIR", str(cache))
    with_cache = import_perf_data(file, tmp_path / "with")
    monkeypatch.setenv("PERF_BUILDID_DIR", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other-cache"))
    without = import_perf_data(file, tmp_path / "without")

    # THEN functions have names and copied stacks are unwound; or both are missing, and that is all
    assert ours.shares(with_cache)["scramble"] > 0.3
    assert ("scramble", "book", "clerk") in {sample.functions[:3] for sample in ours.samples(with_cache)}
    assert "scramble" not in ours.shares(without)
    assert len(ours.samples(without)) == len(ours.samples(with_cache))


def test_a_program_built_anew_is_not_taken_for_the_recorded_one(
    ledger: dict[str, Path], perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a recording without build-ids, whose program has been replaced since
    program = tmp_path / "passing"
    shutil.copy(ledger["dwarf"], program)
    file = perf(["--no-buildid"], [program])
    program.unlink()
    shutil.copy(ledger["fp"], program)
    later = file.stat().st_mtime + 10
    os.utime(program, (later, later))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    # WHEN it is imported
    recording = import_perf_data(file, tmp_path / "recording")

    # THEN no name is made up, and it is said why
    assert "scramble" not in ours.shares(recording)
    assert any("Changed since" in note for note in recording.manifest.losses.notes)
