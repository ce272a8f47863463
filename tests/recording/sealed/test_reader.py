"""Sealed recordings: read back as written, and refused with a sentence when anything is wrong with them."""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import shutil
import weakref
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.recording.full_disk import full_disk
from tests.recording.made import MANIFEST, ROWS, make_recording, tables
from whyperf.errors import WhyperfError
from whyperf.recording.describe import format_document
from whyperf.recording.schemas.tables import TABLES
from whyperf.recording.sealed import manifest as manifest_json
from whyperf.recording.sealed.manifest import TableFile
from whyperf.recording.sealed.reader import Recording
from whyperf.recording.sealed.writer import table_file, write_recording


def read_all(path: Path) -> None:
    recording = Recording(path)
    for table in TABLES:
        recording.table(table.name)


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    recording = Recording(path)
    assert replace(recording.manifest, tables={}) == MANIFEST
    for table in TABLES:
        assert recording.table(table.name).to_pylist() == ROWS.get(table.name, [])
        assert recording.table(table.name).schema == table.schema


def test_a_deep_recordings_tables_are_there_only_where_they_were_given(tmp_path: Path) -> None:
    # GIVEN an ordinary recording, and one with a table of deep recordings
    ordinary = make_recording(tmp_path / "ordinary")
    row = {"call": 0, "parent": -1, "site": -1, "caller": -1, "calls": 1, "instructions": 9, "allocated": 0, "live": 0}
    deep = make_recording(tmp_path / "deep", calls=[row])
    # THEN the file is only in the latter, and the former is read as one without rows
    assert not table_file(ordinary, "calls").exists()
    assert Recording(ordinary).table("calls").num_rows == 0
    assert Recording(deep).table("calls").to_pylist() == [row]
    # AND a file that the manifest lists must be there
    table_file(deep, "calls").unlink()
    with pytest.raises(WhyperfError, match="the table calls cannot be used, the file is missing"):
        Recording(deep).table("calls")


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = make_recording(tmp_path / "rec")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o600}


def test_sealing_leaves_only_tables_and_manifest(tmp_path: Path) -> None:
    (tmp_path / "rec" / "raw").mkdir(parents=True)
    path = make_recording(tmp_path / "rec")
    assert {file.name for file in path.iterdir()} == {"manifest.json", *(f"{name}.parquet" for name in ROWS)}


def test_no_recording_and_not_a_recording(tmp_path: Path) -> None:
    with pytest.raises(WhyperfError, match="There is no recording") as absent:
        Recording(tmp_path / "absent")
    assert absent.value.next_command is not None and "whyperf record" in absent.value.next_command
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(WhyperfError, match="is not a recording"):
            Recording(path)


def test_open_recordings(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "lock").touch()  # the first thing that a recorder writes
    with pytest.raises(WhyperfError, match="was not sealed"):
        Recording(tmp_path)
    with (tmp_path / "raw" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(WhyperfError, match="still being written"):
            Recording(tmp_path)


def test_a_missing_table(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    table_file(path, "frames").unlink()
    with pytest.raises(WhyperfError, match="damaged: the table frames cannot be used, the file is missing"):
        read_all(path)


@pytest.mark.parametrize("name", list(ROWS))
def test_every_table_cut_or_flipped_anywhere_is_noticed(tmp_path: Path, name: str) -> None:
    path = make_recording(tmp_path / "rec")
    content = table_file(path, name).read_bytes()
    positions = range(0, len(content), max(1, len(content) // 40))
    broken = [content[:at] for at in positions]
    broken += [content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :] for at in positions]
    broken.append(content + b"\0")
    for damaged in broken:
        table_file(path, name).write_bytes(damaged)
        with pytest.raises(WhyperfError, match=f"damaged: the table {name} cannot be used"):
            Recording(path).table(name)


def forge(path: Path, name: str, table: pa.Table, rows: int | None = None) -> None:
    """A table that its manifest vouches for: not an accident but a recording made with ill intent."""
    pq.write_table(table, table_file(path, name))
    content = table_file(path, name).read_bytes()
    manifest = manifest_json.load((path / "manifest.json").read_bytes(), "x")
    entry = TableFile(table.num_rows if rows is None else rows, len(content), zlib.crc32(content))
    forged = replace(manifest, tables={**manifest.tables, name: entry})
    (path / "manifest.json").write_text(manifest_json.dump(forged))


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("samples", "stack", 3),
        ("samples", "stack", -2),
        ("samples", "thread", 1 << 30),
        ("stacks", "parent", 2),
        ("stacks", "frame", 3),
        ("frames", "inlined_in", 0),
        ("frames", "function", 1),
        ("functions", "module", 9),
        ("mappings", "process", 1),
    ],
)
def test_row_numbers_can_be_relied_on(tmp_path: Path, name: str, column: str, value: int) -> None:
    path = make_recording(tmp_path / "rec")
    rows = [dict(row) for row in ROWS[name]]
    rows[-1][column] = value
    forge(path, name, tables(**{name: rows})[name])
    with pytest.raises(WhyperfError, match="names rows that do not exist"):
        Recording(path).table(name)


def test_other_schemas_and_other_row_counts_are_refused(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    forge(path, "samples", pa.table({"time": ["not", "a", "number"]}))
    with pytest.raises(WhyperfError, match="does not fit the format"):
        Recording(path).table("samples")
    forge(path, "work", tables()["work"], rows=5)
    with pytest.raises(WhyperfError, match="1 rows instead of 5"):
        Recording(path).table("work")


def test_more_columns_than_known_are_passed_over(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    work = tables()["work"]
    forge(path, "work", work.append_column("later", pa.array([1])))
    assert Recording(path).table("work") == work


@pytest.mark.process
def test_a_full_disk_while_sealing_loses_nothing(tmp_path: Path) -> None:
    with full_disk(tmp_path / "small", 1 << 20) as folder:
        # GIVEN an open recording on a disk with hardly any room
        raw = folder / "rec" / "raw"
        raw.mkdir(parents=True)
        (raw / "log-000001").write_bytes(b"evidence")
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(folder).free - 12_000))
        # WHEN it is sealed THEN that is a sentence, and it is still the open recording that it was
        with pytest.raises(WhyperfError, match=r"No space left.*still there"):
            make_recording(folder / "rec")
        assert [file.name for file in (folder / "rec").iterdir()] == ["raw"]
        assert (raw / "log-000001").read_bytes() == b"evidence"
        # AND once there is room it works
        ballast.unlink()
        make_recording(folder / "rec")
        read_all(folder / "rec")


def test_tables_left_by_a_killed_sealer_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rec"
    path.mkdir()
    for name in ROWS:
        table_file(path, name).write_bytes(b"half")
        table_file(path, name).with_suffix(".new").write_bytes(b"quarter")
    write_recording(path, MANIFEST, tables())
    read_all(path)
    assert not list(path.glob("*.new"))


def test_the_documentation_is_what_the_code_says() -> None:
    documented = Path(__file__).parents[3] / "docs" / "format.md"
    assert documented.read_text(encoding="utf-8") == format_document(), "run `make docs`"


@pytest.mark.parametrize("group", [1_000_000, 4])
def test_values_are_read_piece_by_piece(tmp_path: Path, group: int) -> None:
    # GIVEN a recording whose values lie in one row group or in several
    path = make_recording(tmp_path / "rec")
    whole = Recording(path).table("values")
    _store(path, "values", whole, group)

    # WHEN rows are asked for by variable
    rows = Recording(path).rows("values")

    # THEN they are those of the whole table
    spans = rows.spans("variable")
    assert spans == {0: (0, 9), 1: (9, 18)}
    for start, stop in (*spans.values(), (3, 14), (0, 18)):
        assert rows.read(start, stop)["value"].tolist() == whole.column("value").to_pylist()[start:stop]


def test_values_that_are_damaged_or_not_sorted_are_refused(tmp_path: Path) -> None:
    path = make_recording(tmp_path / "rec")
    whole = Recording(path).table("values")
    _store(path, "values", whole.take(pa.array(range(17, -1, -1))), 4)
    with pytest.raises(WhyperfError, match="not sorted"):
        Recording(path).rows("values").spans("variable")
    content = bytearray(table_file(path, "values").read_bytes())
    content[len(content) // 2] ^= 1
    table_file(path, "values").write_bytes(content)
    with pytest.raises(WhyperfError, match="damaged"):
        Recording(path).rows("values")


def _store(path: Path, name: str, table: pa.Table, group: int) -> None:
    """Writes a table with row groups of that size, and a manifest that says so."""
    pq.write_table(table, table_file(path, name), row_group_size=group)
    content = table_file(path, name).read_bytes()
    manifest = Recording(path).manifest
    described = {**manifest.tables, name: TableFile(table.num_rows, len(content), zlib.crc32(content))}
    (path / "manifest.json").write_text(manifest_json.dump(replace(manifest, tables=described)))


def test_long_tables_are_let_go_when_nobody_uses_them(tmp_path: Path) -> None:
    recording = Recording(make_recording(tmp_path / "rec"))
    held = recording.table("samples")
    assert recording.table("samples") is held
    assert recording.table("frames") is recording.table("frames")
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None
    assert recording.table("samples").num_rows == len(ROWS["samples"])


def test_a_recording_travels_by_name(tmp_path: Path) -> None:
    # GIVEN a recording whose values were checked
    recording = Recording(make_recording(tmp_path / "rec"))
    recording.rows("values")
    sent = pickle.dumps(recording)
    # THEN whoever gets it reads what is there, and need not check again
    assert pickle.loads(sent).table("frames") == recording.table("frames")
    assert pickle.loads(sent)._checked == {"values"}
    # and says so if it is not there, or is another
    other = make_recording(tmp_path / "other")
    text = (other / "manifest.json").read_text()
    (tmp_path / "rec" / "manifest.json").write_text(text + "\n")
    with pytest.raises(WhyperfError, match="sees another recording than you"):
        pickle.loads(sent)
    shutil.rmtree(tmp_path / "rec")
    with pytest.raises(WhyperfError, match="cannot see the recording"):
        pickle.loads(sent)
