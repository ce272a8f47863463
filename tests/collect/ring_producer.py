"""A rings file written as the sampler would write it, byte by byte (native/sampler/session.h)."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from whyperf.collect import _session
from whyperf.recording.raw_log import ringrecords
from whyperf.recording.raw_log.ringrecords import MemoryEvent, RingRecordKind

HEADER_BYTES = 16 * 1024
SLOTS = 4096
SLOT_BYTES = 512
RING_BYTES = 64 * 1024
FREE, TAKEN, DONE, CLAIMED = range(4)
_SLOT = struct.Struct("<IIIIQQQQ")  # state, pid, tid, padding, sequence, start, head, tail
_COUNTERS = ("samples", "weight", "dropped", "records_lost", "busy", "handler_ns", "handler_ns_max")


class Rings:
    """What all watched processes share."""

    def __init__(self, path: Path, rate_hz: int = 200, library: str = "/opt/libwhyperf_sampler.so") -> None:
        _session.create(path, rate_hz, False, "/tmp/tables", library)
        self.path = path
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self._sequence = 0

    def take(self, slot: int, pid: int, tid: int, start: int = 1) -> Thread:
        self._sequence += 1
        at = HEADER_BYTES + slot * SLOT_BYTES
        head, tail = struct.unpack_from("<QQ", self.memory, at + 32)
        _SLOT.pack_into(self.memory, at, TAKEN, pid, tid, 0, self._sequence, start, head, tail)
        return Thread(self, slot, self._sequence)


class Thread:
    """The producer of one ring."""

    def __init__(self, rings: Rings, slot: int, sequence: int) -> None:
        self.sequence = sequence
        self._memory = rings.memory
        self._words = memoryview(rings.memory).cast("Q")
        self._slot = HEADER_BYTES + slot * SLOT_BYTES
        self._ring = HEADER_BYTES + SLOTS * SLOT_BYTES + slot * RING_BYTES

    @property
    def state(self) -> int:
        return int(struct.unpack_from("<I", self._memory, self._slot)[0])

    @property
    def head(self) -> int:
        return int(struct.unpack_from("<Q", self._memory, self._slot + 32)[0])

    @property
    def tail(self) -> int:
        return int(struct.unpack_from("<Q", self._memory, self._slot + 40)[0])

    def set_head(self, head: int) -> None:
        self._words[(self._slot + 32) // 8] = (
            head  # at once: struct writes byte by byte, and whoever writes may be killed
        )

    def set_state(self, state: int) -> None:
        struct.pack_into("<I", self._memory, self._slot, state)

    def count(self, **counters: int) -> None:
        for name, value in counters.items():
            struct.pack_into("<Q", self._memory, self._slot + 48 + 8 * _COUNTERS.index(name), value)

    def put(self, record: bytes) -> bool:
        """False when the ring has no room: what the sampler counts as dropped."""
        head = self.head
        to_end = RING_BYTES - head % RING_BYTES
        padding = to_end if len(record) > to_end else 0
        if head - self.tail + padding + len(record) > RING_BYTES:
            return False
        if padding:
            self.poke(head, ringrecords.RECORD.pack(0, padding // 8, 0, 0))
            head += padding
        self.poke(head, record)
        self.set_head(head + len(record))
        return True

    def poke(self, position: int, content: bytes) -> None:
        at = self._ring + position % RING_BYTES
        self._memory[at : at + len(content)] = content


def memory(time: int, event: MemoryEvent, address: int, size: int = 0, interval: int = 0) -> bytes:
    """What the sample before it is about."""
    return ringrecords.record(RingRecordKind.MEMORY, time, ringrecords.MEMORY.pack(address, size, interval, event))


def module_gone(time: int, start: int) -> bytes:
    return ringrecords.record(RingRecordKind.MODULE_GONE, time, struct.pack("<Q", start))


def unfollowed(time: int, path: str, reason: int) -> bytes:
    return ringrecords.record(RingRecordKind.UNFOLLOWED, time, path.encode(errors="surrogateescape") + b"\0", reason)


def thread_end(time: int, cpu_ns: int, name: str) -> bytes:
    return ringrecords.record(RingRecordKind.THREAD_END, time, ringrecords.THREAD_END.pack(cpu_ns, name.encode()[:15]))
