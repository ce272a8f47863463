"""Files of other tools made with ill intent: pipes, devices, and small files that hold much."""

from __future__ import annotations

import gzip
import os
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.importers.made import Event, PerfFile, comm, plain_sample, record
from tests.patience import PATIENCE_S
from whyperf.errors import WhyperfError
from whyperf.importers.perf_data.container import open_container
from whyperf.importers.perf_data.layout import RecordKind
from whyperf.wire import field, nested

pytestmark = pytest.mark.process

MEMORY = 3 << 30  # of a child; numpy and Arrow alone reserve one


def refused(file: Path) -> str:
    """What `whyperf import` says, in a child that can neither wait for long nor take much memory."""
    done = subprocess.run(
        [sys.executable, "-m", "whyperf", "import", str(file), "-o", str(file.with_name("imported"))],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    assert done.returncode == 1 and "mistake in whyperf" not in done.stderr, done.stderr
    assert "\n  try: " in done.stderr
    assert not file.with_name("imported").exists()
    return done.stderr


@pytest.mark.parametrize("name", ["perf.data", "cpu.pb.gz", "out.collapsed"])
def test_pipes_are_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert f"{name} is a pipe; whyperf reads regular files only" in refused(tmp_path / name)


def test_devices_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "perf.data").symlink_to("/dev/zero")
    assert "is a device; whyperf reads regular files only" in refused(tmp_path / "perf.data")


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"PERFILE2")
    (tmp_path / "perf.data").symlink_to(tmp_path / "real")
    with pytest.raises(WhyperfError, match="cut short"):
        open_container(tmp_path / "perf.data")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(nested(2, b"") * 2_000_000, "more samples than anybody can mean", id="messages"),
        pytest.param(nested(2, nested(1, b"\1" * 60_000_000)), "more samples than anybody", id="numbers"),
        pytest.param(bytes(300_000_000), "decompresses to more than 268,435,456 bytes", id="bytes"),
    ],
)
def test_little_pprof_that_holds_much(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "cpu.pb.gz"
    file.write_bytes(gzip.compress(content + field(9, 1), compresslevel=1))
    assert file.stat().st_size < 3 << 20
    assert words in refused(file)


def test_collapsed_stacks_of_terabytes(tmp_path: Path) -> None:
    file = tmp_path / "out.collapsed"
    file.write_text("main;work 5\n")
    os.truncate(file, 1 << 40)
    assert "reads at most 268,435,456 of such a file" in refused(file)


def test_more_samples_than_anybody_can_mean(tmp_path: Path) -> None:
    file = tmp_path / "out.collapsed"
    for weight in ("9" * 30, "9" * 4000, "9" * 5000):
        file.write_text(f"main;work {weight}\n")
        refused(file)


def test_records_that_decompress_to_much(tmp_path: Path) -> None:
    packed = pa.compress(bytes(512 << 20), "zstd", asbytes=True)
    pieces = [packed[at : at + 60_000] for at in range(0, len(packed), 60_000)]
    event = Event()
    file = tmp_path / "perf.data"
    file.write_bytes(PerfFile([event], [record(RecordKind.COMPRESSED, piece) for piece in pieces]).to_bytes())
    with pytest.raises(WhyperfError, match="decompresses to more than 100 times its size"):
        open_container(file)


@pytest.mark.parametrize(("at", "size"), [(1 << 63, 8), ((1 << 64) - 1, 8), (0, 1 << 62), (1 << 40, 8)])
def test_numbers_of_events_outside_of_the_file(tmp_path: Path, at: int, size: int) -> None:
    # GIVEN a file whose first event says that its numbers are elsewhere
    event = Event()
    content = bytearray(PerfFile([event], [comm(event, 1, 1, "tool"), plain_sample(event, 5)]).to_bytes())
    attributes_at = struct.unpack_from("<Q", content, 24)[0]
    each = struct.unpack_from("<Q", content, 16)[0]
    struct.pack_into("<QQ", content, attributes_at + each - 16, at, size)
    file = tmp_path / "perf.data"
    file.write_bytes(content)
    # THEN
    with pytest.raises(WhyperfError, match="cut short"):
        open_container(file)
