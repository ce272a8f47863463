"""Open recordings whose checksums hold and whose numbers do not: each is a sentence, or costs only what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.collect import ring_producer
from tests.collect.dependences import made_stream
from tests.collect.dependences.made_stream import WHOLE, end, enter, event, module, open_deep_recording, site, watch
from tests.collect.open_recording import OpenRecording
from tests.seal.test_damage import SYMBOLS, record_something
from whyperf.errors import WhyperfError
from whyperf.recording.raw_log import ringrecords
from whyperf.recording.raw_log.chunks import ChunkKind
from whyperf.recording.raw_log.ringrecords import RingRecordKind
from whyperf.recording.schemas.deep_tables import RegionKind
from whyperf.seal.opening import seal


@pytest.mark.parametrize(
    "said",
    [
        {"type": "work", "time": 1e300, "unit": "request", "count": 5},
        {"type": "work", "time": 5, "unit": "request", "count": float("nan")},
        {"type": "work", "time": 5, "unit": "request", "count": -3},
        {"type": "work", "time": 1 << 70, "unit": "request", "count": 10**400},
        {"type": "thread-name", "pid": [7], "tid": {}, "name": "worker"},
        {"type": "thread-name", "pid": 1 << 80, "tid": 7, "name": "worker"},
        {"type": "stop", "time": 1 << 70, "exit_status": 1 << 80},
        {"type": "ready", "time": -(1 << 70)},
        {"type": "totals", "at": "stop", "totals": {"wall_s": 1e308}},
        {"type": "traced-process", "time": 1 << 70, "pid": 1 << 40, "parent": -5, "name": "x"},
        {"type": "kernel-symbols", "names": {"-5": "a", "f" * 40: "b"}, "modules": {}},
    ],
    ids=lambda said: f"{said['type']}-{list(said)[-1]}",
)
def test_numbers_that_nobody_can_have_counted(tmp_path: Path, said: dict[str, Any]) -> None:
    # GIVEN a whole recording in whose log somebody says nonsense
    rec = OpenRecording(tmp_path / "rec")
    thread = rec.thread(7, start=110)
    thread.put(ringrecords.process(110, 7, 1, ringrecords.ProcessOrigin.EXEC, executable="/bin/tool"))
    thread.put(ringrecords.sample(200, [0x10100]))
    rec.drain()
    rec.log.append(ChunkKind.JSON, json.dumps(said).encode())
    rec.log.close()
    # THEN it is sealed and can be read
    sealed = rec.sealed()
    assert sealed.table("samples").num_rows == 1
    for row in sealed.table("work").to_pylist():
        assert 0 <= row["count"] < 1e19


@pytest.mark.parametrize(
    "record",
    [
        ringrecords.record(RingRecordKind.PROCESS, 1 << 63, bytes(32)),
        ringrecords.record(RingRecordKind.PROCESS, 5, b""),
        ringrecords.record(RingRecordKind.THREAD_END, 5, b""),
        ringrecords.record(RingRecordKind.MODULE, 5, b""),
        ring_producer.thread_end(5, (1 << 64) - 1, "tool"),
        ringrecords.record(RingRecordKind.PROCESS, 5, b"\xff" * 32),
        ringrecords.blocked(5, [1], (1 << 64) - 1, 7),
        ringrecords.sample(1 << 63, [1]),
    ],
)
def test_records_that_nobody_can_have_written(tmp_path: Path, record: bytes) -> None:
    rec = record_something(tmp_path / "rec")
    rec.log = type(rec.log)(rec.raw)
    rec.log.append(ChunkKind.RING, ringrecords.owner(7, 7, 5, 120) + record)
    for pid in (7, 8, (1 << 32) - 1):
        rec.outside(pid, pid, record)
    rec.log.close()
    sealed = seal(rec.path, symbols=SYMBOLS)
    for name in ("samples", "processes", "threads"):
        sealed.table(name)
    assert sealed.table("samples").num_rows >= 40


@pytest.mark.parametrize(
    ("name", "value"),
    [("skip_ns", -1), ("start_monotonic", 1 << 70), ("sampling", {"rate_hz": 10**400, "clock": "cpu", "source": ""})],
)
def test_a_start_that_makes_no_sense(tmp_path: Path, name: str, value: object) -> None:
    rec = record_something(tmp_path / "rec")
    start = json.loads((rec.raw / "start.json").read_bytes())
    (rec.raw / "start.json").write_text(json.dumps({**start, name: value}))
    with pytest.raises(WhyperfError, match="holds nothing"):
        seal(rec.path, symbols=SYMBOLS)


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
def test_a_stream_written_by_hand_is_sealed(tmp_path: Path, phase: str) -> None:
    sealed = seal(open_deep_recording(tmp_path / "rec", phase))
    if phase == "sketch":
        assert sealed.table("calls").column("calls").to_pylist() == [1, 1]
    else:
        kinds = [RegionKind(kind) for kind in sealed.table("regions").column("kind").to_pylist()]
        assert kinds == [RegionKind.THREAD, RegionKind.ACTIVATION, RegionKind.ACTIVATION]
        assert sealed.table("executions").num_rows == 2


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
def test_instructions_of_a_file_without_a_name_are_sealed(tmp_path: Path, phase: str) -> None:
    records = (WHOLE[0], module(""), *WHOLE[1:])
    assert seal(open_deep_recording(tmp_path / "rec", phase, records)).table("sites").num_rows >= 2


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
def test_instructions_of_our_own_library_are_damage(tmp_path: Path, phase: str) -> None:
    records = (WHOLE[0], module("/x/libwhyperf_sampler.so"), *WHOLE[1:])
    path = open_deep_recording(tmp_path / "rec", phase, records)
    with pytest.raises(WhyperfError, match="names instructions of whyperf's own library"):
        seal(path)


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
@pytest.mark.parametrize(
    ("records", "words"),
    [
        ((*WHOLE[:4], enter(9), event(1), end()), "functions that the plan does not name"),
        ((*WHOLE[:4], enter(1 << 31), end()), "functions that the plan does not name"),
        ((*WHOLE[:4], enter(0), event(1), watch(5, 1, 1), end()), "variables that the plan does not name"),
        ((module(""), made_stream.other(12, 7, 5, b"\x0f"), end()), "files that it does not name"),
        ((end(),), "names no file"),
        ((module("/another/file"), *WHOLE[2:]), "functions of files that it does not name"),
    ],
    ids=["function", "huge-function", "variable", "file", "no-file", "another-file"],
)
def test_a_stream_that_names_what_is_not_there(
    tmp_path: Path, phase: str, records: tuple[bytes, ...], words: str
) -> None:
    path = open_deep_recording(tmp_path / "rec", phase, records)
    with pytest.raises(WhyperfError, match=f"stream is damaged: it .*{words}") as error:
        seal(path)
    assert error.value.next_command is not None


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
@pytest.mark.parametrize(
    "records",
    [
        (*WHOLE[:3], site(9, 4, 0), *WHOLE[4:]),
        (*WHOLE[:6], watch(0, 9, 1), *WHOLE[6:]),
        (*WHOLE[:6], watch(0, 1, 9), *WHOLE[6:]),
    ],
    ids=["site", "site-of-watch", "event-of-watch"],
)
def test_a_record_that_names_what_is_not_there_ends_what_is_read(
    tmp_path: Path, phase: str, records: tuple[bytes, ...]
) -> None:
    path = open_deep_recording(tmp_path / "rec", phase, records)
    assert "killed" in " ".join(seal(path).manifest.losses.notes)


@pytest.mark.parametrize(
    "lines",
    [
        "function 1000 zoom\nmodule tool -",
        "module tool -\nwatch 10 7",
        "module tool -\nrange 1000 1010",
        "module tool -\nfunction ffffffffffffffffffff zoom",
    ],
)
def test_a_plan_that_makes_no_sense(tmp_path: Path, lines: str) -> None:
    path = open_deep_recording(tmp_path / "rec", "zoom")
    (path / "raw" / "plan").write_text(f"whyperf-plan 1\n{lines}\n")
    with pytest.raises(WhyperfError, match="what was asked for cannot be read"):
        seal(path)


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
def test_paths_and_arguments_that_are_not_utf8(tmp_path: Path, phase: str) -> None:
    # GIVEN a program in a folder with a name in another encoding, called with such an argument
    path = open_deep_recording(tmp_path / "rec", phase, (*WHOLE[:1], module("/caf\udce9/tool"), *WHOLE[2:]))
    start = json.loads((path / "raw" / "start.json").read_bytes())
    (path / "raw" / "start.json").write_text(json.dumps({**start, "command": ["./tool", "caf\udce9"]}))
    # THEN its recording is sealed
    sealed = seal(path)
    assert sealed.manifest.command == ("./tool", "caf?")
    assert "/caf?/tool" in sealed.table("modules").column("path").to_pylist()


@pytest.mark.parametrize("phase", ["sketch", "zoom"])
def test_a_deep_recording_without_a_command(tmp_path: Path, phase: str) -> None:
    path = tmp_path / "rec"
    open_deep_recording(path, phase)
    start = json.loads((path / "raw" / "start.json").read_bytes())
    (path / "raw" / "start.json").write_text(json.dumps({**start, "command": []}))
    assert seal(path).table("threads")["name"][0].as_py() == "?"
