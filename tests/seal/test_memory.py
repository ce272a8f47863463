"""What a thread says of memory becomes rows with an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.collect import ring_producer
from tests.collect.open_recording import FakeBinary, FakeSymbols, OpenRecording
from tests.collect.ring_producer import Thread
from whyperf.engines.holdings import holdings_of
from whyperf.recording.raw_log import ringrecords as records
from whyperf.recording.raw_log.ringrecords import MemoryEvent, ProcessOrigin
from whyperf.recording.sealed.reader import Recording

SYMBOLS = FakeSymbols({"/bin/tool": FakeBinary({"main": (0x100, 0x140), "drop": (0x140, 0x180)})})
MAIN, DROP = 0x10110, 0x10150
INTERVAL = 1000


@pytest.fixture
def rec(tmp_path: Path) -> OpenRecording:
    return OpenRecording(tmp_path / "rec")


def introduced(rec: OpenRecording) -> Thread:
    thread = rec.thread(7, start=110)
    thread.put(records.process(110, 7, 1, ProcessOrigin.EXEC, executable="/bin/tool"))
    thread.put(records.module(110, 0x10000, 0x11000, bias=0x10000, path="/bin/tool", build_id="abcd"))
    return thread


def say(thread: Thread, time: int, event: MemoryEvent, address: int, size: int = 0, interval: int = INTERVAL) -> None:
    thread.put(records.sample(time, [DROP if event is MemoryEvent.FREED else MAIN], weight=0))
    thread.put(ring_producer.memory(time, event, address, size, interval if event is not MemoryEvent.FREED else 0))


def rows(recording: Recording) -> list[dict[str, Any]]:
    return list(recording.table("allocations").to_pylist())


def test_a_block_ends_where_it_is_freed(rec: OpenRecording) -> None:
    thread = introduced(rec)
    say(thread, 200, MemoryEvent.ALLOCATED, 0x5000, 100_000)
    say(thread, 300, MemoryEvent.FREED, 0x5000)
    say(thread, 400, MemoryEvent.ALLOCATED, 0x5000, 50_000)
    rec.stop()
    first, second = rows(recording := rec.sealed(SYMBOLS))
    # Larger than a hundred intervals: sampled for certain, so it stands for itself.
    assert (first["size"], first["weight"], first["end"], first["freed"]) == (100_000, 100_000, 300, True)
    assert recording.table("samples").to_pylist()[first["freed_by"]]["time"] == 300
    assert (second["end"], second["freed"], second["freed_by"]) == (-1, False, -1)
    # No time was spent in any of it.
    assert recording.table("samples").column("weight").to_pylist() == [0, 0, 0]
    assert recording.table("samples").column("clock").to_pylist() == [2, 2, 2]
    held = holdings_of(recording)
    assert (held.peak_bytes, held.kept_bytes) == (100_000, 50_000)


def test_a_free_that_was_lost_is_told_by_the_next_block_there(rec: OpenRecording) -> None:
    thread = introduced(rec)
    say(thread, 200, MemoryEvent.ALLOCATED, 0x5000, 100_000)
    say(thread, 400, MemoryEvent.ALLOCATED, 0x5000, 100_000)
    say(thread, 500, MemoryEvent.FREED, 0x9000)  # of a block that was not sampled in this process
    rec.stop()
    first, second = rows(rec.sealed(SYMBOLS))
    assert (first["end"], first["freed"], first["freed_by"]) == (400, True, -1)
    assert not second["freed"]


def test_small_blocks_stand_for_many(rec: OpenRecording) -> None:
    thread = introduced(rec)
    say(thread, 200, MemoryEvent.ALLOCATED, 0x5000, 10)
    rec.stop()
    (row,) = rows(rec.sealed(SYMBOLS))
    assert row["weight"] == pytest.approx(INTERVAL + 5, abs=1)


def test_pages_end_when_they_were_seen_to_have_gone(rec: OpenRecording) -> None:
    # GIVEN a page and a block at the same address, and that the page has gone
    thread = introduced(rec)
    say(thread, 200, MemoryEvent.FAULTED, 0x5000, 4096, interval=64)
    say(thread, 210, MemoryEvent.ALLOCATED, 0x5000, 100_000)
    say(thread, 300, MemoryEvent.FREED_BEFORE, 0x5000, 290, interval=1)
    rec.stop()
    page, block = rows(rec.sealed(SYMBOLS))
    # THEN only the page has, at the moment that was said
    assert (page["kind"], page["weight"], page["end"], page["freed"]) == (1, 64 * 4096, 290, True)
    assert (block["kind"], block["freed"]) == (0, False)
