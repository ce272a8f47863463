"""Open recordings of counts made with ill intent: something else in the place of a file, and sizes that are none."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.collect.counts.machine import counting_machine
from tests.collect.open_recording import FakeSymbols, OpenRecording
from tests.recording.test_hostile import PLACED, instead, refused
from whyperf.collect.counts.counter_files import counted_processes, read_counter_file
from whyperf.collect.counts.raw import COUNTERS, PLANS, counted_since_ready, keep_counts_so_far
from whyperf.collect.counts.recorder import CountsRecorder
from whyperf.collect.runs.unsampled_run import UnsampledRun
from whyperf.errors import WhyperfError

_SOURCE = """__attribute__((noipa)) int leaf(int n) { return n * 3 + 1; }
int main(void) { return leaf(1) + leaf(2) > 100; }
"""
_BLOCK_BYTES_AT, _BLOCKS_AT, _FIRST_ROW = 32, 40, 4096


@pytest.fixture(scope="module")
def counted() -> Iterator[Path]:
    """What a program's own library left: `counters` and `plans`."""
    with counting_machine() as machine:
        machine.counted(machine.compiled(_SOURCE))
        (machine.folder / "out-0").rename(machine.folder / COUNTERS)
        yield machine.folder


@pytest.fixture
def made(counted: Path, tmp_path: Path) -> OpenRecording:
    made = OpenRecording(tmp_path / "rec")
    for name in (COUNTERS, PLANS):
        subprocess.run(["cp", "-r", "--sparse=always", counted / name, made.raw / name], check=True)
    keep_counts_so_far(made.raw)
    made.stop()
    return made


def file_of(made: OpenRecording, name: str) -> Path:
    found = made.raw / name
    return next(found.iterdir()) if found.is_dir() else found


@pytest.mark.parametrize("place", PLACED)
@pytest.mark.parametrize("name", [COUNTERS, PLANS, "before-ready", "before-ready.json"])
def test_only_regular_files_are_read(made: OpenRecording, name: str, place: Callable[[Path], None]) -> None:
    instead(file_of(made, name), place)
    with pytest.raises(WhyperfError, match=r"regular files only|holds no counts"):
        made.sealed()


def test_a_pipe_is_not_waited_for(made: OpenRecording) -> None:
    instead(file_of(made, COUNTERS), os.mkfifo)
    assert "is a pipe; whyperf reads regular files only." in refused("info", str(made.path))


@pytest.mark.parametrize(
    ("at", "form", "number"),
    [
        (_BLOCK_BYTES_AT, "<Q", 8),
        (_BLOCK_BYTES_AT, "<Q", 1 << 60),
        (_BLOCKS_AT, "<I", (1 << 32) - 1),
    ],
    ids=["small blocks", "large blocks", "many blocks"],
)
def test_other_sizes_of_blocks_are_no_counts(made: OpenRecording, at: int, form: str, number: int) -> None:
    file = file_of(made, COUNTERS)
    _write(file, at, form, number)
    os.truncate(file, 1 << 35)  # all holes, which nobody may read through
    assert read_counter_file(file) is None


def test_counters_beyond_a_block_are_none(made: OpenRecording) -> None:
    file = file_of(made, COUNTERS)
    whole = read_counter_file(file)
    assert whole is not None and whole.modules[0].counts.sum() > 0
    _write(file, _FIRST_ROW + 28, "<I", (1 << 32) - 1)
    damaged = read_counter_file(file)
    assert damaged is not None and len(damaged.modules[0].counts) == 0


def test_a_file_of_more_blocks_than_there_are_is_refused(made: OpenRecording) -> None:
    os.truncate(file_of(made, COUNTERS), 1 << 40)
    with pytest.raises(WhyperfError, match=r"1,099,511,627,776 bytes; whyperf reads at most"):
        made.sealed()


def test_what_was_counted_before_is_taken_off_where_its_places_fit(made: OpenRecording) -> None:
    assert _calls(made.raw) == 0
    places = made.raw / "before-ready.json"
    whole = places.read_text()
    for changed in ("[]", "{", "[" * 100_000, '{"places": {"x": [0]}}', whole.replace("[0, ", "[9000000, ")):
        places.write_text(changed)
        assert _calls(made.raw) > 0


def test_a_recording_may_have_more_processes_than_files_may_be_open(made: OpenRecording) -> None:
    first = file_of(made, COUNTERS)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(200):
        subprocess.run(["cp", "--sparse=always", first, first.with_name(f"x{number}.counts")], check=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (150, limits[1]))
    try:
        processes = counted_processes(first.parent)
        calls = [int(process.modules[0].counts.sum()) for process in processes]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(calls) == 201 and min(calls) > 0


def test_something_else_in_the_place_of_a_counter_does_not_end_the_recorder(
    made: OpenRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(made.raw / COUNTERS / "8.counts")
    said: list[str] = []
    monkeypatch.setattr(UnsampledRun, "append", lambda _self, kind, **_: said.append(kind))
    recorder = object.__new__(CountsRecorder)
    recorder._raw = made.raw
    recorder.append("ready")
    assert said == ["ready"]


def test_a_programs_name_may_be_any_bytes(made: OpenRecording) -> None:
    file = file_of(made, COUNTERS)
    content = file.read_bytes()
    at = content.index(b"/program\0", _FIRST_ROW)
    _write(file, at, "<8s", b"/pr\xffgram")
    (row,) = made.sealed(FakeSymbols()).table("processes").to_pylist()
    assert row["executable"].endswith("/pr?gram") and made.path.exists()


def _calls(raw: Path) -> int:
    return sum(int(module.counts.sum()) for process in counted_since_ready(raw) for module in process.modules)


def _write(file: Path, at: int, form: str, number: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(struct.pack(form, number))
