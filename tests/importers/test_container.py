"""perf.data files as they come: whole, piped, cut short, damaged, from elsewhere."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import made
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data.bookkeeping import Exited, Forked, MappedRange, Renamed, keep_books
from whyperf.importers.perf_data.container import open_container
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.importers.perf_data.layout import Feature, RecordKind, SampleType
from whyperf.importers.perf_data.reading import read_perf_data

CLOCK = made.Event()
SWITCH = made.Event(
    sample_type=CLOCK.sample_type | 1 << 10, type=2, config=314, period=1, by_frequency=False, identity=8, name="switch"
)
SWITCH_FORMAT = made.format_file(
    "sched_switch", 314, [("pid_t prev_pid", 24, 4, 1), ("long prev_state", 32, 8, 1), ("pid_t next_pid", 56, 4, 1)]
)


def a_file(extra: tuple[bytes, ...] = ()) -> made.PerfFile:
    records = [
        made.comm(CLOCK, 0, 10, "program"),
        made.mmap2(CLOCK, 0, 10, "/nowhere/program", 0x400000, 0x2000),
        made.fork(CLOCK, 900, 10, 11, 10, 10),
        *(made.plain_sample(CLOCK, 1000 + i, pid=10, tid=10 + i % 2) for i in range(20)),
        made.raw_sample(SWITCH, 1100, struct.pack("<24xi4xq16xi", 10, 1, 0), pid=10, tid=10),
        *extra,
    ]
    features = {Feature.TRACING_DATA: made.tracing_data({"sched:sched_switch": SWITCH_FORMAT})}
    return made.PerfFile([CLOCK, SWITCH], records, features)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_piped_file_says_what_an_ordinary_one_says(tmp_path: Path) -> None:
    # GIVEN the same records in a file and in a pipe
    (tmp_path / "file").write_bytes(a_file().to_bytes())
    (tmp_path / "pipe").write_bytes(a_file().to_pipe())

    # WHEN both are read
    file, pipe = (read_perf_data(tmp_path / name) for name in ("file", "pipe"))

    # THEN events, names, tracepoint fields and happenings are the same
    assert [event.name for event in file.container.events] == ["cpu-clock", "switch"]
    assert file.container.events == pipe.container.events
    assert file.container.features.formats == pipe.container.features.formats
    assert file.books == pipe.books
    for name in ("time", "pid", "tid", "kind", "other", "result"):
        assert np.array_equal(file.events.records[name], pipe.events.records[name]), name
    assert not file.container.notes and not pipe.container.notes


def test_who_ran_and_what_was_mapped(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(a_file((made.comm(CLOCK, 1500, 10, "other", by_exec=True),)).to_bytes())

    books = keep_books(open_container(tmp_path / "file"))

    named, mapped, forked, renamed = books.happenings
    assert isinstance(named, Renamed) and (named.time, named.name, named.by_exec) == (0, "program", False)
    assert isinstance(mapped, MappedRange) and (mapped.path, mapped.start, mapped.end) == (
        "/nowhere/program",
        0x400000,
        0x402000,
    )
    assert isinstance(forked, Forked) and (forked.time, forked.tid, forked.parent_tid) == (900, 11, 10)
    assert isinstance(renamed, Renamed) and (renamed.time, renamed.name, renamed.by_exec) == (1500, "other", True)


def test_losses_throttling_and_foreign_records_are_counted(tmp_path: Path) -> None:
    # GIVEN records of losses, of hardware tracing with its data behind it, and of kinds that nobody knows yet
    extra = (
        made.record(RecordKind.LOST, struct.pack("<QQ", 7, 5) + made.trailer(CLOCK, 1200)),
        made.record(RecordKind.LOST_SAMPLES, struct.pack("<Q", 3) + made.trailer(CLOCK, 1201)),
        made.record(RecordKind.THROTTLE, struct.pack("<QQQ", 1202, 7, 7) + made.trailer(CLOCK, 1202)),
        made.record(RecordKind.AUXTRACE, struct.pack("<QQQIIII", 64, 0, 0, 0, 0, 0, 0)) + b"\xff" * 64,
        made.record(63, b"of the future"),
        made.record(200, b"of the future"),
        made.plain_sample(CLOCK, 1300, pid=10),
    )
    (tmp_path / "file").write_bytes(a_file(extra).to_bytes())

    # WHEN it is read
    read = read_perf_data(tmp_path / "file")

    # THEN each is counted, and what lies behind them is found
    assert (read.books.lost, read.books.throttled) == (8, 1)
    assert read.books.skipped == {"of hardware tracing": 1, "of unknown kinds": 2}
    assert len(read.samples) == 22


def test_samples_of_events_that_the_file_does_not_describe_are_counted(tmp_path: Path) -> None:
    stranger = made.Event(identity=99)
    (tmp_path / "file").write_bytes(a_file((made.plain_sample(stranger, 1200),)).to_bytes())

    assert read_perf_data(tmp_path / "file").decoded.foreign == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"2ELIFREP" + bytes(200), "other byte order"),
        (b"PERFFILE" + bytes(200), "no perf.data file"),
        (b"", "is empty"),
        (a_file().to_bytes()[:60], "cut short"),
        (made.PerfFile([CLOCK], [made.plain_sample(CLOCK, 1)], machine="riscv64").to_bytes(), "recorded on riscv64"),
        (made.PerfFile([], []).to_bytes(), "describes no event"),
        (
            made.PerfFile(
                [made.Event(type=0, config=3, name="cache-misses")], [made.plain_sample(CLOCK, 1000)]
            ).to_bytes(),
            "cache-misses only",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(WhyperfError, match=said) as refused:
        read_perf_data(tmp_path / "file")

    assert refused.value.sentence.endswith(".") and refused.value.next_command


def test_a_file_without_its_end_gives_what_was_written(tmp_path: Path) -> None:
    # GIVEN a file that was cut in the middle of its records
    whole = a_file().to_bytes()
    first_sample = whole.index(made.plain_sample(CLOCK, 1000, pid=10, tid=10))
    (tmp_path / "file").write_bytes(whole[: first_sample + 5 * 56 + 17])

    # WHEN it is read
    read = read_perf_data(tmp_path / "file")

    # THEN the records before are there, and it is said what is missing
    assert len(read.samples) == 5
    assert read.container.damaged_bytes == 17
    assert "cut short" in read.container.notes[0]


def test_a_file_of_a_killed_perf_is_read_to_its_end(tmp_path: Path) -> None:
    # GIVEN a header that was never completed: data of size 0, no features
    whole = bytearray(a_file().to_bytes())
    (data_size,) = struct.unpack_from("<Q", whole, 48)
    (data_at,) = struct.unpack_from("<Q", whole, 40)
    struct.pack_into("<Q", whole, 48, 0)
    struct.pack_into("<Q", whole, 72, 0)
    (tmp_path / "file").write_bytes(whole[: data_at + data_size])

    read = read_perf_data(tmp_path / "file")

    assert len(read.samples) == 21
    assert "killed" in read.container.notes[0]


def _imported_or_refused(path: Path) -> None:
    try:
        recording = import_perf_data(path, path.with_suffix(".whyperf"), force=True)
    except WhyperfError as error:
        assert error.sentence.endswith(".")
    else:
        assert recording.table("events").num_rows >= recording.table("samples").num_rows


@pytest.mark.thorough
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_never_raises_anything_but_a_sentence(tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from((a_file().to_bytes(), a_file().to_pipe()))))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(8, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged"
    path.write_bytes(whole[: data.draw(st.integers(1, len(whole)))])

    _imported_or_refused(path)


def test_a_file_without_times_keeps_its_cpu_time(tmp_path: Path) -> None:
    # GIVEN samples that do not say when they were taken
    timeless = made.Event(sample_type=made.PLAIN & ~SampleType.TIME | SampleType.IDENTIFIER)
    body = struct.pack("<QQIIIIQ", timeless.identity, 0x401000, 10, 10, 0, 0, 2_000_000)
    records = [made.comm(timeless, 0, 10, "program"), *[made.record(RecordKind.SAMPLE, body)] * 50]
    (tmp_path / "file").write_bytes(made.PerfFile([timeless], records).to_bytes())

    # WHEN it is imported
    recording = import_perf_data(tmp_path / "file", tmp_path / "recording")

    # THEN nothing is lost but when it was
    assert recording.column("samples", "weight").sum() == 100_000_000
    assert any("without times" in note for note in recording.manifest.losses.notes)


def test_exits_are_seen(tmp_path: Path) -> None:
    body = struct.pack("<IIIIQ", 10, 1, 11, 1, 1400)
    gone = made.record(RecordKind.EXIT, body + made.trailer(CLOCK, 1400))
    (tmp_path / "file").write_bytes(a_file((gone,)).to_bytes())

    assert Exited(1400, 10, 11) in keep_books(open_container(tmp_path / "file")).happenings
