"""The files in which processes count: `native/probes/counters.h` has the same numbers.

A process may have been killed at any moment, and files come from processes that are not trusted: what does not fit is
passed over. Counts are read when they are used: each process may have 16 MB of them.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.errors import WhyperfError
from whyperf.recording.safe_files.regular_files import map_regular

SUFFIX = ".counts"
_MAGIC = b"WPCOUNTS"
_VERSION = 1
_HEADER = struct.Struct("<8sIIiiQQIIIII")
_HEADER_BYTES, _MODULES = 4096, 1024
_ROW = struct.Struct("<20sIIIIIQ976s")
_BLOCKS_FROM = _HEADER_BYTES + _MODULES * _ROW.size
_BUILD_ID_BYTES = 20
_BLOCK_BYTES, _MOST_BLOCKS = 16 << 20, 4096
_COUNTER_BYTES = 8

Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.uint64]


class UncountedReason(IntEnum):
    """Why a module is not counted; the same numbers as in `native/probes/reasons.h`."""

    COUNTED = 0
    NO_BUILD_ID = 1
    NO_PLAN = 2
    PLAN_DAMAGED = 3
    PLAN_OTHER_VERSION = 4
    OTHER_CODE = 5
    NO_ROOM = 6
    TOO_MANY_COUNTERS = 7
    NO_DISK = 8
    NOT_WRITABLE = 9
    TEXT_RELOCATIONS = 10
    TAKES_REGISTER = 11


@dataclass(frozen=True, eq=False)
class CountedModule:
    path: str
    build_id: str
    reason: UncountedReason
    plan_checksum: int
    blocks: Blocks
    first: int
    counters: int
    before: Counts | None = None
    """What was counted before the target was ready."""

    @property
    def counts(self) -> Counts:
        """Of each of the plan's counters, over all threads; none when it was not counted."""
        counted = self.blocks.summed(self.first, self.counters)
        return counted if self.before is None or len(self.before) != len(counted) else counted - self.before


@dataclass(frozen=True, eq=False)
class CountedProcess:
    pid: int
    parent: int
    start_ns: int
    """CLOCK_MONOTONIC."""
    forked: bool
    locked: bool
    uncounted_threads: int
    unwatched: bool
    """Libraries that it loaded later were not noticed."""
    modules: tuple[CountedModule, ...]


def counted_processes(folder: Path) -> list[CountedProcess]:
    """In the order in which they started; those whose files say nothing are left out."""
    found = (read_counter_file(path) for path in sorted(folder.glob(f"*{SUFFIX}")))
    return sorted((one for one in found if one is not None), key=lambda one: (one.start_ns, one.pid))


def read_counter_file(path: Path) -> CountedProcess | None:
    """None of a file that says nothing, or is gone. WhyperfError of what is no regular file, or larger than any."""
    return _read(path, _content(path))


def _content(path: Path) -> Bytes:
    try:
        return np.frombuffer(map_regular(path, _BLOCKS_FROM + _MOST_BLOCKS * _BLOCK_BYTES), np.uint8)
    except FileNotFoundError:
        return np.zeros(0, np.uint8)
    except OSError as error:
        raise WhyperfError(f"{path} cannot be read: {error.strerror}.", f"ls -l {shlex.quote(str(path))}") from None


def _read(path: Path, content: Bytes) -> CountedProcess | None:
    if len(content) < _BLOCKS_FROM:
        return None
    head = content[: _HEADER.size].tobytes()
    magic, version, mode, pid, parent, start, block_bytes, blocks, modules, uncounted, unwatched, forked = (
        _HEADER.unpack(head)
    )
    if magic != _MAGIC or version != _VERSION or block_bytes != _BLOCK_BYTES or blocks > _MOST_BLOCKS:
        return None
    whole_blocks = Blocks(path, blocks)
    rows = (_row(content, row, whole_blocks) for row in range(min(modules, _MODULES)))
    return CountedProcess(pid, parent, start, bool(forked), bool(mode), uncounted, bool(unwatched), tuple(rows))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Of one file, which is open only while it is read: there may be thousands."""

    path: Path
    count: int

    def summed(self, first: int, counters: int) -> Counts:
        """Empty where they do not lie in a block."""
        fits = first % _COUNTER_BYTES == 0 and first + counters * _COUNTER_BYTES <= _BLOCK_BYTES
        total = np.zeros(counters if fits else 0, np.uint64)
        for part in self._parts(first, total.nbytes):
            total[: len(part)] += part
        return total

    def _parts(self, first: int, size: int) -> Iterator[Counts]:
        content = _content(self.path)[_BLOCKS_FROM:] if size else np.zeros(0, np.uint8)
        for block in range(self.count):
            low = block * _BLOCK_BYTES + first
            if low >= len(content):
                return
            part = content[low : low + size]
            yield part[: len(part) // _COUNTER_BYTES * _COUNTER_BYTES].view(np.uint64)


def _row(content: Bytes, number: int, blocks: Blocks) -> CountedModule:
    at = _HEADER_BYTES + number * _ROW.size
    build_id, id_bytes, reason, counters, first, plan_checksum, _bias, path = _ROW.unpack(
        content[at : at + _ROW.size].tobytes()
    )
    known = UncountedReason(reason) if reason in UncountedReason.__members__.values() else UncountedReason.PLAN_DAMAGED
    return CountedModule(
        path.split(b"\0", 1)[0].decode(errors="surrogateescape"),
        build_id[: min(id_bytes, _BUILD_ID_BYTES)].hex(),
        known,
        plan_checksum,
        blocks,
        first,
        counters,
    )
