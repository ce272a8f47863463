"""Samples of another process' thread from the kernel: a software cpu-clock event with registers and a piece of stack.

Layouts are those of linux/perf_event.h.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from whyperf.collect.architecture import this_architecture
from whyperf.collect.perf_events import open_described

_ATTRIBUTES = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_SOFTWARE, _CPU_CLOCK = 1, 0
_TID, _TIME, _REGS_USER, _STACK_USER = 1 << 1, 1 << 2, 1 << 12, 1 << 13
_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _TASK, _WATERMARK, _USE_CLOCK = 1 << 5, 1 << 6, 1 << 13, 1 << 14, 1 << 25
_ABI_64 = 2

_RECORD_LOST, _RECORD_FORK, _RECORD_SAMPLE = 2, 7, 9
_HEADER = struct.Struct("<IHH")
_HEAD_AT, _TAIL_AT = 1024, 1032
_PAGE = mmap.PAGESIZE

# (ring, stack dump) in bytes: the first pair that this user may lock into memory.
_SIZES = ((512 << 10, 32 << 10), (128 << 10, 16 << 10), (32 << 10, 8 << 10))


@dataclass(frozen=True)
class ThreadSample:
    time: int
    registers: bytes  # words in DWARF's order, the program counter last
    stack: bytes
    stack_address: int


@dataclass(frozen=True)
class ThreadForked:
    """The thread started another one, or a process."""

    pid: int
    tid: int


@dataclass(frozen=True)
class SamplesLost:
    """Samples for which the ring had no room, or which carry no user registers."""

    count: int


class ThreadEvents:
    """The events of one thread, from now on. OSError where the kernel does not permit it or the thread is gone."""

    def __init__(self, tid: int, period_ns: int, *, with_kernel: bool) -> None:
        for ring_bytes, dump_bytes in _SIZES:
            self._descriptor = _open(tid, period_ns, dump_bytes, ring_bytes // 2, with_kernel)
            try:
                self._ring = mmap.mmap(self._descriptor, _PAGE + ring_bytes)
            except OSError as error:
                os.close(self._descriptor)
                if error.errno != errno.EPERM or (ring_bytes, dump_bytes) == _SIZES[-1]:
                    raise
            else:
                self._size = ring_bytes
                return

    def fileno(self) -> int:
        return self._descriptor

    def drain(self) -> Iterator[ThreadSample | ThreadForked | SamplesLost]:
        """Everything that has come since the last time; the kernel gets the room back as the iterator goes on."""
        (head,) = struct.unpack_from("<Q", self._ring, _HEAD_AT)
        (tail,) = struct.unpack_from("<Q", self._ring, _TAIL_AT)
        while tail < head:
            kind, _, size = _HEADER.unpack(self._bytes(tail, _HEADER.size))
            if size < _HEADER.size:
                return
            body = self._bytes(tail + _HEADER.size, size - _HEADER.size)
            tail += size
            struct.pack_into("<Q", self._ring, _TAIL_AT, tail)
            if kind == _RECORD_SAMPLE:
                yield _parse_sample(body)
            elif kind == _RECORD_LOST:
                yield SamplesLost(struct.unpack_from("<Q", body, 8)[0])
            elif kind == _RECORD_FORK:
                pid, _, tid, _ = struct.unpack_from("<IIII", body)
                yield ThreadForked(pid, tid)

    def close(self) -> None:
        self._ring.close()
        os.close(self._descriptor)

    def _bytes(self, at: int, size: int) -> bytes:
        first = at % self._size
        wrapped = max(0, first + size - self._size)
        return self._ring[_PAGE + first : _PAGE + first + size - wrapped] + self._ring[_PAGE : _PAGE + wrapped]


def _parse_sample(body: bytes) -> ThreadSample | SamplesLost:
    _, _, when, abi = struct.unpack_from("<IIQQ", body)
    if abi != _ABI_64:
        return SamplesLost(1)
    here = this_architecture()
    words = struct.Struct(f"<{len(here.dwarf_order)}Q")
    registers = words.unpack_from(body, 24)
    at = 24 + words.size
    (dumped,) = struct.unpack_from("<Q", body, at)
    (usable,) = struct.unpack_from("<Q", body, at + 8 + dumped) if dumped else (0,)
    stack = body[at + 8 : at + 8 + min(usable, dumped)]
    return ThreadSample(
        when, words.pack(*(registers[i] for i in here.dwarf_order)), stack, registers[here.stack_pointer]
    )


def _open(tid: int, period_ns: int, dump_bytes: int, watermark: int, with_kernel: bool) -> int:
    flags = _EXCLUDE_HYPERVISOR | _TASK | _WATERMARK | _USE_CLOCK | (0 if with_kernel else _EXCLUDE_KERNEL)
    registers = this_architecture().perf_registers
    attributes = _ATTRIBUTES.pack(
        *(_SOFTWARE, _ATTRIBUTES.size, _CPU_CLOCK, period_ns, _TID | _TIME | _REGS_USER | _STACK_USER, 0, flags),
        *(watermark, 0, 0, 0, 0, registers, dump_bytes, time.CLOCK_MONOTONIC, 0, 0, 0, 0),
    )
    return open_described(attributes, pid=tid, cpu=-1)
