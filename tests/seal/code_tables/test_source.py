"""Source excerpts: the sampled lines and what is around them, as they were when the binary was built."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.collect.open_recording import FakeBinary, FakeSymbols, OpenRecording
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import ProcessOrigin
from whyperf.recording.sealed.reader import Recording


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "tool.c"
    path.write_text("".join(f"line {i}\n" for i in range(1, 1001)))
    os.utime(path, (1000, 1000))
    (tmp_path / "tool").touch()
    return path


def record_lines(tmp_path: Path, source: Path, *lines: int) -> Recording:
    """Samples at lines of a function that begins at address 0 and is declared in line 1."""
    rec = OpenRecording(tmp_path / "rec")
    thread = rec.thread(7)
    tool = str(tmp_path / "tool")
    thread.put(records.process(110, 7, 1, ProcessOrigin.EXEC, executable=tool))
    thread.put(records.module(110, 0x10000, 0x20000, bias=0x10000, path=tool))
    for i, line in enumerate(lines):
        thread.put(records.sample(200 + i, [0x10000 + line - 1]))
    rec.stop()
    return rec.sealed(FakeSymbols({tool: FakeBinary({"main": (0, 0x10000)}, file=str(source))}))


def test_from_the_declaration_to_the_last_sampled_line_with_context(tmp_path: Path, source: Path) -> None:
    (row,) = record_lines(tmp_path, source, 40, 60).table("source").to_pylist()
    assert row["first_line"] == 1
    assert row["text"].splitlines() == [f"line {i}" for i in range(1, 66)]
    assert row["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()


def test_a_declaration_far_away_is_left_out(tmp_path: Path, source: Path) -> None:
    (row,) = record_lines(tmp_path, source, 900).table("source").to_pylist()
    assert (row["first_line"], len(row["text"].splitlines())) == (895, 11)


def test_the_file_ends_where_it_ends(tmp_path: Path, source: Path) -> None:
    rows = record_lines(tmp_path, source, 999, 2000).table("source").to_pylist()
    assert rows[-1]["text"].splitlines()[-1] == "line 1000"


def test_source_newer_than_the_binary_is_not_what_ran(tmp_path: Path, source: Path) -> None:
    os.utime(source)
    os.utime(tmp_path / "tool", (2000, 2000))
    recording = record_lines(tmp_path, source, 40)
    assert recording.table("source").num_rows == 0
    assert any("newer than the binary" in note for note in recording.manifest.losses.notes)


def test_what_is_no_readable_text_file_is_passed_over(tmp_path: Path, source: Path) -> None:
    source.unlink()
    assert record_lines(tmp_path, source, 40).table("source").num_rows == 0


def test_a_pipe_in_place_of_source_is_not_waited_for(tmp_path: Path, source: Path) -> None:
    source.unlink()
    os.mkfifo(source)
    assert record_lines(tmp_path, source, 40).table("source").num_rows == 0


def test_room_is_bounded_and_what_had_none_is_said(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyperf.seal.code_tables.source._TOTAL_BYTES", 10)
    recording = record_lines(tmp_path, source, 40)
    assert recording.table("source").num_rows == 0
    assert any("lack of room" in note for note in recording.manifest.losses.notes)


def test_lines_are_counted_as_compilers_count_them(tmp_path: Path, source: Path) -> None:
    # GIVEN form feeds, as in GNU sources, and the line ends of another system
    source.write_bytes(b"".join(b"\x0c" * (i % 7 == 0) + b"line %d\r\n" % i for i in range(1, 1001)))
    os.utime(source, (1000, 1000))
    # THEN line n is line n
    (row,) = record_lines(tmp_path, source, 900).table("source").to_pylist()
    lines = row["text"].split("\n")
    assert [line.lstrip("\x0c") for line in lines] == [f"line {i}" for i in range(895, 895 + len(lines))]
