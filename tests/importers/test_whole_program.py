"""A file of a program from its start to its end is a run, and is judged as one."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.importers import made
from whyperf.diagnose.diagnosis import diagnose
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.importers.perf_data.layout import Feature, RecordKind, SampleType
from whyperf.recording.sealed.reader import Recording

CLOCK = made.Event()
CHAINS = made.Event(sample_type=CLOCK.sample_type | SampleType.CALLCHAIN)
_USER_CONTEXT = 0xFFFFFFFFFFFFFE00
_MS = 1_000_000


def _exit(event: made.Event, time: int, pid: int) -> bytes:
    body = struct.pack("<IIIIQ", pid, 1, pid, 1, time)
    return made.record(RecordKind.EXIT, body + made.trailer(event, time, pid, pid))


def _sample(event: made.Event, time: int, chain: tuple[int, ...]) -> bytes:
    body = struct.pack("<QQIIQ", event.identity, 0x401000, 10, 10, time) + struct.pack("<IIQ", 0, 0, _MS)
    if event.sample_type & SampleType.CALLCHAIN:
        body += struct.pack(f"<Q{len(chain) + 1}Q", len(chain) + 1, _USER_CONTEXT, *chain)
    return made.record(RecordKind.SAMPLE, body)


def _imported(
    path: Path,
    *,
    samples: int = 100,
    lasted_ms: int = 400,
    event: made.Event = CLOCK,
    chain: tuple[int, ...] = (0x401000,),
    ends: bool = True,
    words: tuple[str, ...] = ("perf", "record", "-F", "999", "./program", "in.txt"),
) -> Recording:
    """`samples` milliseconds of CPU time within so many of wall time."""
    begin, every = 1_000_000_000, lasted_ms * _MS // (samples + 1)
    records = [
        made.comm(event, begin, 10, "program", by_exec=True),
        made.mmap2(event, begin, 10, "/nowhere/program", 0x400000, 0x2000),
        *(_sample(event, begin + (number + 1) * every, chain) for number in range(samples)),
        *([_exit(event, begin + lasted_ms * _MS, 10)] if ends else []),
    ]
    command = struct.pack("<I", len(words)) + b"".join(
        struct.pack("<I", len(made.text(word))) + made.text(word) for word in words
    )
    file = path.with_suffix(".data")
    file.write_bytes(made.PerfFile([event], records, {Feature.COMMAND: command}).to_bytes())
    return import_perf_data(file, path)


def test_it_lasted_from_exec_to_exit_and_has_the_programs_command(tmp_path: Path) -> None:
    manifest = _imported(tmp_path / "run").manifest
    assert manifest.stopped_by == "exit" and manifest.totals.wall_s == pytest.approx(0.4)
    assert manifest.command == ("./program", "in.txt")


@pytest.mark.parametrize("words", [("perf", "record", "-a", "./program"), ("perf", "record", "-p", "10")])
def test_of_a_machine_or_of_what_ran_already_the_end_is_not_known(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert _imported(tmp_path / "run", words=words).manifest.stopped_by == "imported"


def test_a_file_that_ends_before_the_program_is_no_run(tmp_path: Path) -> None:
    assert _imported(tmp_path / "run", ends=False).manifest.stopped_by == "imported"


def test_nine_times_the_cpu_time_is_no_wait(tmp_path: Path) -> None:
    # GIVEN samples alone, which cannot tell who waited for a CPU
    good = _imported(tmp_path / "good", samples=100, lasted_ms=600)
    bad = _imported(tmp_path / "bad", samples=900, lasted_ms=5000)
    # WHEN the program computes as much of its time as before, THEN what grew is CPU time
    symptom = diagnose([good], [bad]).symptom
    assert symptom.kind == "cpu" and "9.0 times the CPU time" in symptom.sentence
    assert "wait" not in symptom.sentence and "parallelism" not in symptom.sentence


def test_wall_time_alone_is_still_waiting(tmp_path: Path) -> None:
    good = _imported(tmp_path / "good", samples=100, lasted_ms=600)
    bad = _imported(tmp_path / "bad", samples=105, lasted_ms=5000)
    assert diagnose([good], [bad]).symptom.kind == "wait"


def test_chains_of_one_frame_get_a_hint(tmp_path: Path) -> None:
    hint = "perf record --call-graph dwarf"
    short = _imported(tmp_path / "short", event=CHAINS, chain=(0x401000,)).manifest.losses.notes
    assert any("one frame deep" in note and hint in note for note in short)
    deep = _imported(tmp_path / "deep", event=CHAINS, chain=(0x401000, 0x401100, 0x401200)).manifest.losses.notes
    assert not any("frame deep" in note for note in deep)
