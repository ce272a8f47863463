"""The raw log while it is written: bounded, self-contained, safe from kill and full disks."""

from __future__ import annotations

import errno
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.recording.full_disk import full_disk
from whyperf.recording.raw_log.chunks import ChunkKind, ChunkReader, log_files
from whyperf.recording.raw_log.log_writer import RawLogWriter


def chunks(raw: Path) -> list[tuple[int, bytes]]:
    return [(chunk.kind, bytes(chunk.payload)) for chunk in ChunkReader().in_folder(raw)]


def damage(raw: Path) -> int:
    reader = ChunkReader()
    list(reader.in_folder(raw))
    return reader.damaged_bytes


def said(raw: Path) -> list[dict[str, object]]:
    return [chunk.json() for chunk in ChunkReader().in_folder(raw) if chunk.kind == ChunkKind.JSON]


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    with RawLogWriter(tmp_path / "raw") as log:
        log.append(1, b"ring")
        log.append_json({"type": "ready", "time": 5})
        log.append(3, b"")
    assert chunks(tmp_path / "raw") == [(1, b"ring"), (2, b'{"type": "ready", "time": 5}'), (3, b"")]


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    RawLogWriter(tmp_path / "raw").close()
    assert (tmp_path / "raw").stat().st_mode & 0o777 == 0o700
    assert log_files(tmp_path / "raw")[0].stat().st_mode & 0o777 == 0o600


def test_an_earlier_log_is_never_overwritten(tmp_path: Path) -> None:
    for payload in (b"first", b"second"):
        with RawLogWriter(tmp_path) as log:
            log.append(1, payload)
    assert chunks(tmp_path) == [(1, b"first"), (1, b"second")]


def test_all_files_together_stay_below_the_bound_and_the_newest_survive(tmp_path: Path) -> None:
    bound = 64 * 1024
    with RawLogWriter(tmp_path, bound) as log:
        log.append_json({"type": "ready", "time": 1})
        for i in range(2000):
            log.append(1, i.to_bytes(4, "little") * 25)
            log.rotate()
            assert sum(path.stat().st_size for path in log_files(tmp_path)) <= bound * 9 / 8
            time.sleep(0 if i % 100 else 0.001)
        assert log.overwritten_s > 0
        expected = log.overwritten_s
    numbers = [int.from_bytes(payload[:4], "little") for kind, payload in chunks(tmp_path) if kind == 1]
    assert numbers == list(range(numbers[0], 2000))
    assert numbers[0] > 0
    # What is needed to understand the rest is in every file, and how much is gone is said.
    assert {"type": "ready", "time": 1} in said(tmp_path)
    assert {"type": "overwritten", "seconds": expected} in said(tmp_path)


def test_the_last_word_of_each_kind_is_repeated_in_a_new_file(tmp_path: Path) -> None:
    with RawLogWriter(tmp_path, 8 * 100) as log:
        for name in ("old", "new"):
            log.append_json({"type": "thread-name", "pid": 1, "tid": 2, "name": name})
        log.append_json({"type": "thread-name", "pid": 1, "tid": 3, "name": "other"})
        log.append(1, bytes(1000))
        assert log.rotate()
    newest = ChunkReader().in_bytes(log_files(tmp_path)[-1].read_bytes())
    names = [chunk.json().get("name") for chunk in newest]
    assert [name for name in names if name] == ["new", "other"]


def test_without_a_bound_nothing_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.recording.raw_log.log_writer._UNBOUNDED_FILE_BYTES", 1000)
    with RawLogWriter(tmp_path) as log:
        for i in range(50):
            log.append(1, bytes([i]) * 100)
            log.rotate()
    assert len(log_files(tmp_path)) > 3
    assert [payload[0] for kind, payload in chunks(tmp_path) if kind == 1] == list(range(50))


def test_threads_may_append_at_the_same_time(tmp_path: Path) -> None:
    with RawLogWriter(tmp_path, 1 << 20) as log:

        def append(which: int) -> None:
            for i in range(300):
                log.append_json({"type": "work", "unit": str(which), "count": i})
                log.rotate()

        threads = [threading.Thread(target=append, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for which in range(4):
        assert [value["count"] for value in said(tmp_path) if value["unit"] == str(which)] == list(range(300))


@pytest.mark.process
def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    with full_disk(tmp_path / "small", 1 << 20) as folder:
        log = RawLogWriter(folder / "raw")
        with pytest.raises(OSError) as full:
            for _ in range(1000):
                log.append(1, bytes(10_000))
        assert full.value.errno == errno.ENOSPC
        kept = chunks(folder / "raw")
        assert 50 < len(kept) < 110
        assert damage(folder / "raw") == 0
        log.append(1, b"")  # a small one may still fit
        log.close()


_WRITER = """
import sys
from pathlib import Path
from whyperf.recording.raw_log.log_writer import RawLogWriter
log = RawLogWriter(Path(sys.argv[1]), 1 << 20)
print(flush=True)
number = 0
while True:
    log.append_json({"type": "work", "unit": "u", "count": number})
    log.append(1, number.to_bytes(4, "little") * 200)
    log.rotate()
    number += 1
"""


@pytest.mark.process
def test_a_killed_writer_leaves_everything_but_its_last_chunk(tmp_path: Path) -> None:
    rng = random.Random(1)
    for attempt in range(8):
        raw = tmp_path / str(attempt)
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(raw)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(rng.random() * 0.1)
            writer.send_signal(signal.SIGKILL)
        reader = ChunkReader()
        read = list(reader.in_folder(raw))
        numbers = [int.from_bytes(chunk.payload[:4], "little") for chunk in read if chunk.kind == 1]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
        assert reader.damaged_bytes <= 816
        for chunk in read:
            if chunk.kind == ChunkKind.JSON:
                assert json.loads(bytes(chunk.payload))["type"] in ("work", "overwritten")
