"""Who writes to an address: the kernel's hardware breakpoints as sampling events, opened by the recorder.

They are opened on the recorder's own thread, disabled: the program that it starts inherits them, with all its threads,
and they begin when it is executed. Nothing is loaded into the target for that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whyperf.collect.architecture import this_architecture
from whyperf.collect.observation.sites import REGISTERS, WRITE, Rows, Watch
from whyperf.collect.perf_events import open_described
from whyperf.errors import WhyperfError

_ATTRIBUTES = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_BREAKPOINT, _ON_WRITE = 5, 2
_IP, _TID, _TIME, _ADDRESS, _REGS_USER = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 12
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_ENABLE_ON_EXEC, _USE_CLOCK = 1 << 12, 1 << 25
_DISABLE, _SET_OUTPUT = 0x2401, 0x2405
_RECORD_LOST, _RECORD_SAMPLE = 2, 9
_HEAD_AT, _TAIL_AT = 1024, 1032
_PAGE = mmap.PAGESIZE
_SIZES = (512 << 10, 128 << 10, 64 << 10)  # of a ring: the first that this user may lock into memory
_FIXED = struct.Struct("<QIIQQQ")  # address, process, thread, time, watched address, whose registers


class Watching:
    """Of the programs that this thread starts from now on. WhyperfError where it is not possible."""

    def __init__(self, watches: Sequence[Watch], most: int) -> None:
        self._watches, self._most = watches, most
        self._numbers = {watch.address: number for number, watch in enumerate(watches)}
        self._events: list[list[int]] = [[] for _ in watches]
        self._rings: list[mmap.mmap] = []
        self._seen = [0] * len(watches)
        self._rows: list[bytes] = []
        self.lost = 0
        with contextlib.ExitStack() as undone:
            undone.callback(self.close)
            for cpu in _online() if watches else ():
                self._open_on(cpu)
            undone.pop_all()

    def drain(self) -> None:
        """What has been written since the last time."""
        for ring in self._rings:
            self._drain(ring)

    def writes(self) -> Rows:
        found = np.frombuffer(b"".join(self._rows), WRITE)
        return found[np.argsort(found["order"], kind="stable")]

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
        for event in (event for events in self._events for event in events):
            os.close(event)
        self._rings, self._events = [], [[] for _ in self._watches]

    def _open_on(self, cpu: int) -> None:
        first: int | None = None
        for number, watch in enumerate(self._watches):
            try:
                event = _open(watch, cpu)
                self._events[number].append(event)
                if first is None:
                    first = event
                    self._rings.append(_mapped(event))
                else:
                    fcntl.ioctl(event, _SET_OUTPUT, first)
            except OSError as error:
                raise _cannot(error, len(self._watches)) from None

    def _drain(self, ring: mmap.mmap) -> None:
        size = len(ring) - _PAGE
        (head,) = struct.unpack_from("<Q", ring, _HEAD_AT)
        (tail,) = struct.unpack_from("<Q", ring, _TAIL_AT)
        content = _between(ring, tail, head, size)
        struct.pack_into("<Q", ring, _TAIL_AT, head)
        at = 0
        while at + 8 <= len(content):
            kind, _, length = struct.unpack_from("<IHH", content, at)
            if length < 8:
                return
            if kind == _RECORD_SAMPLE:
                self._take(content, at + 8)
            elif kind == _RECORD_LOST:
                self.lost += struct.unpack_from("<Q", content, at + 16)[0]
            at += length

    def _take(self, content: bytes, at: int) -> None:
        address, _, thread, when, watched, abi = _FIXED.unpack_from(content, at)
        number = self._numbers.get(watched)
        if number is None or not abi:
            self.lost += 1
            return
        here = this_architecture()
        words = struct.unpack_from(f"<{len(here.dwarf_order)}Q", content, at + _FIXED.size)
        registers = [words[place] for place in here.dwarf_order[:-1]]
        registers += [0] * (REGISTERS - len(registers))
        self._rows.append(struct.pack(f"<IIQQ{REGISTERS}Q", number, thread, when, address, *registers[:REGISTERS]))
        self._seen[number] += 1
        if self._seen[number] == self._most:
            for event in self._events[number]:
                fcntl.ioctl(event, _DISABLE, 0)
            self.lost += 1


def _open(watch: Watch, cpu: int) -> int:
    sampled = _IP | _TID | _TIME | _ADDRESS | _REGS_USER
    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _ENABLE_ON_EXEC | _USE_CLOCK
    attributes = _ATTRIBUTES.pack(
        *(_BREAKPOINT, _ATTRIBUTES.size, 0, 1, sampled, 0, flags, 1, _ON_WRITE, watch.address, watch.size),
        *(0, this_architecture().perf_registers, 0, time.CLOCK_MONOTONIC, 0, 0, 0, 0),
    )
    return open_described(attributes, pid=0, cpu=cpu)


def _mapped(event: int) -> mmap.mmap:
    for size in _SIZES:
        try:
            return mmap.mmap(event, _PAGE + size)
        except OSError as error:
            if error.errno != errno.EPERM or size == _SIZES[-1]:
                raise
    raise AssertionError


def _between(ring: mmap.mmap, tail: int, head: int, size: int) -> bytes:
    low, high = tail % size, head % size
    if tail == head:
        return b""
    return ring[_PAGE + low : _PAGE + high] if low < high else ring[_PAGE + low :] + ring[_PAGE : _PAGE + high]


def _online() -> list[int]:
    found: list[int] = []
    for part in Path("/sys/devices/system/cpu/online").read_text().strip().split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def _cannot(error: OSError, watches: int) -> WhyperfError:
    if error.errno == errno.ENOSPC:
        return WhyperfError(f"This processor cannot watch {watches} addresses at a time.", "whyperf doctor")
    return WhyperfError(
        f"Writes to memory cannot be watched here: {os.strerror(error.errno or 0)}.",
        "sysctl kernel.perf_event_paranoid",
    )
