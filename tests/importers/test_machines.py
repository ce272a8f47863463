"""Files of the machine that imports them, and of the other one."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tests.importers import made
from whyperf.importers.perf_data.importing import import_perf_data
from whyperf.importers.perf_data.layout import RecordKind, SampleType
from whyperf.recording.sealed.reader import Recording

HERE = os.uname().machine
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[HERE]
COPIES = made.Event(
    made.PLAIN | SampleType.IDENTIFIER | SampleType.REGS_USER | SampleType.STACK_USER,
    user_registers={"x86_64": 0xFF01FF, "aarch64": (1 << 33) - 1}[OTHER],
)
UNWOUND_ELSEWHERE = "are unwound by whyperf on such a machine only"


def _copying_sample(time: int) -> bytes:
    """With all registers and a little of the stack."""
    count = COPIES.user_registers.bit_count()
    body = struct.pack("<QQIIQIIQ", COPIES.identity, 0x401000, 1, 1, time, 0, 0, 1_000_000)
    body += struct.pack(f"<Q{count}Q", 2, *[0x7000] * count) + struct.pack("<QQQ", 8, 0x401234, 8)
    return made.record(RecordKind.SAMPLE, body)


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def get(*records: bytes, machine: str, event: made.Event = COPIES) -> Recording:
        (tmp_path / "file").write_bytes(made.PerfFile([event], records, machine=machine).to_bytes())
        return import_perf_data(tmp_path / "file", tmp_path / "recording")

    return get


def test_copied_stacks_of_the_other_machine_have_their_innermost_frame(imported) -> None:
    recording = imported(_copying_sample(100), _copying_sample(200), machine=OTHER)

    assert recording.manifest.host.machine == OTHER
    assert recording.table("stacks").num_rows == 1
    assert set(recording.column("samples", "stack").tolist()) == {0}
    (note,) = [note for note in recording.manifest.losses.notes if UNWOUND_ELSEWHERE in note]
    assert note.startswith(f"Callers are unknown: stacks that perf copied on {OTHER} ")


def test_a_file_without_copied_stacks_is_imported_on_either_machine_alike(imported) -> None:
    event = made.Event()
    recording = imported(made.plain_sample(event, 100), made.plain_sample(event, 200), machine=OTHER, event=event)

    assert recording.manifest.host.machine == OTHER
    assert recording.table("samples").num_rows == 2
    assert not [note for note in recording.manifest.losses.notes if UNWOUND_ELSEWHERE in note]
