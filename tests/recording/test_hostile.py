"""Recordings made with ill intent: pipes, devices and links in the place of files, and small files that hold much."""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.patience import PATIENCE_S
from tests.recording.made import make_recording, tables
from tests.recording.repaired import repair
from tests.recording.sealed.test_reader import forge, read_all
from tests.seal.test_damage import SYMBOLS, record_something
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log.chunks import MAGIC, ChunkReader
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.schemas.tables import table_named
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import table_file
from whyperf.seal.opening import open_recording, seal

MEMORY = 3 << 30  # of a child; numpy and Arrow alone reserve one


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link(path: Path) -> None:
    (path.parent.parent / "elsewhere").write_bytes(b"{}")
    path.symlink_to(path.parent.parent / "elsewhere")


def folder(path: Path) -> None:
    path.mkdir()


PLACED = [pipe, device, link, folder]


def instead(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def refused(*arguments: str) -> str:
    """What the command says, in a child that can neither wait for long nor take much memory."""
    done = subprocess.run(
        [sys.executable, "-m", "whyperf", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 1 and "mistake in whyperf" not in done.stderr, done.stderr
    assert "\n  try: " in done.stderr
    return done.stderr


@pytest.mark.parametrize("make", PLACED)
@pytest.mark.parametrize("name", ["manifest.json", "samples.parquet", "source.parquet"])
def test_only_regular_files_of_a_sealed_recording_are_opened(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    path = make_recording(tmp_path / "rec")
    instead(path / name, make)
    with pytest.raises(WhyperfError, match="reads regular files only") as error:
        read_all(path)
    assert error.value.next_command == f"ls -l {path / name}"


@pytest.mark.parametrize("make", PLACED)
@pytest.mark.parametrize("name", ["start.json", "log-000001", "rings", "lock"])
def test_only_regular_files_of_an_open_recording_are_opened(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    path = record_something(tmp_path / "rec").path
    instead(path / "raw" / name, make)
    with pytest.raises(WhyperfError, match="reads regular files only"):
        seal(path, symbols=SYMBOLS)
    assert (path / "raw").is_dir()


def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = record_something(tmp_path / "rec").path
    instead(path / "raw" / "lock", pipe)
    with pytest.raises(WhyperfError, match="is a pipe"):
        Recording(path)


def test_sealing_writes_into_no_file_that_a_link_leads_to(tmp_path: Path) -> None:
    # GIVEN an open recording in which links to a file of ours have the names that sealing writes to
    path = record_something(tmp_path / "rec").path
    ours = tmp_path / "ours"
    ours.write_text("years of work")
    for name in ("samples.new", "manifest.json.new"):
        (path / name).symlink_to(ours)
    os.mkfifo(path / "frames.new")
    # THEN it is sealed, and our file is what it was
    assert seal(path, symbols=SYMBOLS).table("samples").num_rows == 40
    assert ours.read_text() == "years of work"
    # AND a lock that leads there is refused
    other = record_something(tmp_path / "other").path
    instead(other / "raw" / "lock", lambda lock: lock.symlink_to(ours))
    with pytest.raises(WhyperfError, match="symbolic link"):
        seal(other, symbols=SYMBOLS)
    assert ours.read_text() == "years of work"


@pytest.mark.process
@pytest.mark.parametrize("name", ["manifest.json", "samples.parquet"])
@pytest.mark.parametrize("make", [pipe, device])
def test_info_says_so(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    path = make_recording(tmp_path / "rec")
    instead(path / name, make)
    assert "reads regular files only" in refused("info", str(path))


def test_a_manifest_of_terabytes_is_not_read(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    os.truncate(path / "manifest.json", 1 << 40)
    with pytest.raises(WhyperfError, match=f"at most {MOST_JSON_BYTES:,}"):
        Recording(path)


def test_a_table_of_terabytes_is_not_read(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    os.truncate(table_file(path, "samples"), 1 << 40)
    with pytest.raises(WhyperfError, match="reads at most"):
        read_all(path)


def say_again(file: Path, times: int) -> None:
    """The same rows as often as that, although they are there once."""
    content, once, again = file.read_bytes(), pq.read_metadata(file), pq.read_metadata(file)
    for _ in range(times - 1):
        again.append_row_groups(once)
    footer = file.with_suffix(".footer")
    again.write_metadata_file(footer)
    length = int.from_bytes(content[-8:-4], "little") + 8
    file.write_bytes(content[:-length] + footer.read_bytes()[4:])
    footer.unlink()


@pytest.mark.process
def test_many_rows_in_a_small_file_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    # GIVEN less than a megabyte that holds 250 million rows, as the manifest says too
    path = make_recording(tmp_path / "rec")
    schema = table_named("samples").schema
    zeros = pa.table([pa.array(np.zeros(1 << 20), field.type) for field in schema], schema=schema)
    groups = 240
    pq.write_table(zeros, table_file(path, "samples"), compression="zstd", store_schema=False)
    say_again(table_file(path, "samples"), groups)
    assert table_file(path, "samples").stat().st_size < 1 << 20
    assert pq.read_metadata(table_file(path, "samples")).num_rows == groups << 20
    repair(path, rows={"samples": groups << 20})
    # THEN
    said = refused("info", str(path))
    assert f"has {groups << 20:,} rows, and --max-rows permits 200,000,000" in said
    assert f"--max-rows {groups << 20}" in said
    # AND a manifest that names fewer is found out before anything is decoded
    repair(path, rows={"samples": 100_000_000})
    assert "instead of 100000000" in refused("info", str(path))


def test_max_rows_is_what_the_user_says(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    with pytest.raises(WhyperfError, match="has 500 rows, and --max-rows permits 499"):
        Recording(path, max_rows=499).table("samples")
    with pytest.raises(WhyperfError, match="permits 17"):
        Recording(path, max_rows=17).rows("values")
    assert open_recording(path, max_rows=500).table("samples").num_rows == 500
    # AND wherever the recording is sent to
    with pytest.raises(WhyperfError, match="permits 499"):
        pickle.loads(pickle.dumps(Recording(path, max_rows=499))).table("samples")


def test_one_long_text_in_every_row_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    # GIVEN a thousand functions, all with the same name of 4 MB
    path = make_recording(tmp_path / "rec")
    functions = tables()["functions"].to_pylist()
    many = pa.Table.from_pylist(
        [{**functions[0], "function": i, "name": ""} for i in range(1000)], table_named("functions").schema
    )
    name = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * (4 << 20)]))
    forge(path, "functions", many.set_column(2, "name", name))
    assert table_file(path, "functions").stat().st_size < 6 << 20
    # THEN
    with pytest.raises(WhyperfError, match="bytes of text"):
        Recording(path).table("functions")


def test_lists_are_bounded_too(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    processes = tables()["processes"]
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * (4 << 20)]))
    command = pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), words)
    forge(path, "processes", processes.set_column(6, "command", command))
    with pytest.raises(WhyperfError, match="bytes of text"):
        Recording(path).table("processes")


def test_what_only_looks_like_chunks_does_not_take_for_ever() -> None:
    # GIVEN a log of headers that each announce 4 MB, and none of which has the right checksum
    header = MAGIC + (1).to_bytes(4, "little") + ((4 << 20) - 16).to_bytes(4, "little") + b"\0\0\0\0"
    reader = ChunkReader()
    assert list(reader.in_bytes(header * (1 << 19))) == []
    assert reader.damaged_bytes == 16 << 19


def test_columns_keep_what_they_promise(tmp_path: Path) -> None:
    cases = [
        ("samples", "weight", -1, "numbers below 0"),
        ("samples", "clock", 7, "kinds that do not exist"),
        ("work", "count", float("nan"), "no number"),
        ("work", "count", float("inf"), "no number"),
        ("work", "count", -2.0, "numbers below 0"),
        ("work", "count", 1e200, "numbers above 2"),
    ]
    for name, column, value, words in cases:
        path = make_recording(tmp_path / f"{name}-{column}-{value}")
        rows = tables()[name].to_pylist()
        rows[-1] = {**rows[-1], column: value}
        forge(path, name, tables(**{name: rows})[name])
        with pytest.raises(WhyperfError, match=f"its column {column} holds .*{words}"):
            Recording(path).table(name)


@pytest.mark.parametrize("name", ["stacks", "frames", "functions", "modules", "processes", "threads"])
def test_rows_are_numbered_as_they_come(tmp_path: Path, name: str) -> None:
    path = make_recording(tmp_path / "rec")
    number = next(column.name for column in table_named(name).columns if column.own_number)
    rows = tables()[name].to_pylist()
    forge(path, name, tables(**{name: [*rows[:-1], {**rows[-1], number: 1 << 20}]})[name])
    with pytest.raises(WhyperfError, match=f"its column {number} does not number its rows"):
        Recording(path).table(name)


def test_a_manifest_may_not_say_that_there_are_fewer_rows_than_none(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    recording = Recording(path)
    broken = replace(recording.manifest.tables["samples"], rows=-1)
    recording.manifest.tables["samples"] = broken
    with pytest.raises(WhyperfError, match="damaged"):
        recording.table("samples")
