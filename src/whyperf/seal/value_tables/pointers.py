"""Pointers as classes: an address means nothing in another run, what it points into does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.elf_files.elf import read_elf
from whyperf.seal.evidence import Int32, Int64, UInt64
from whyperf.seal.participants.address_spaces import Spaces
from whyperf.seal.participants.processes import Participants

# The class lies in the upper 8 bits. The sampler itself tells pointers into the thread's own stack.
NULL, MODULE, HEAP, STACK, OTHER = range(5)
_CLASS_SHIFT = np.uint64(56)
_LOWEST = np.uint64(4096)
_HIGHEST = np.uint64(1 << 48)  # no machine's programs have addresses above
_OFFSET_BITS = 40


@dataclass(frozen=True)
class Extents:
    """Where each process had its modules' code and data, sorted by start: rows [first[p], first[p + 1])."""

    first: Int64
    start: UInt64
    end: UInt64
    module: Int32
    bias: UInt64
    sample_process: Int32

    @staticmethod
    def of(participants: Participants, spaces: Spaces) -> Extents:
        rows: set[tuple[int, int, int, int, int]] = set()
        for row in spaces.rows:
            low, high = _addresses(spaces.modules[row.mapping.module].path)
            bias = row.mapping.bias
            start, end = (bias + low, bias + high) if high else (row.mapping.start, row.mapping.end)
            rows.add((row.process, start % 2**64, end % 2**64, row.mapping.module, bias % 2**64))
        ordered = sorted(rows)
        process = np.array([row[0] for row in ordered], np.int64)
        return Extents(
            first=np.searchsorted(process, np.arange(len(participants.processes) + 1)),
            start=np.array([row[1] for row in ordered], np.uint64),
            end=np.array([row[2] for row in ordered], np.uint64),
            module=np.array([row[3] for row in ordered], np.int32),
            bias=np.array([row[4] for row in ordered], np.uint64),
            sample_process=participants.sample_process,
        )


@cache
def _addresses(path: str) -> tuple[int, int]:
    """From the lowest to the highest ELF address that is mapped; (0, 0) when the file is not there."""
    elf = read_elf(Path(path))
    if elf is None or not elf.segments:
        return 0, 0
    ends = [segment.address + segment.file_size for segment in elf.segments]
    return min(segment.address for segment in elf.segments), max(ends)


def classify(value: Int64, is_pointer: npt.NDArray[np.bool_], sample: Int32, extents: Extents) -> Int64:
    """Values with pointers turned into class and identity; others as they are."""
    rows = np.flatnonzero(is_pointer)
    if not len(rows):
        return value
    address = value[rows].view(np.uint64)
    made = np.full(len(rows), HEAP, np.uint64) << _CLASS_SHIFT | address
    odd = (address < _LOWEST) | (address >= _HIGHEST)
    made[odd] = np.uint64(OTHER) << _CLASS_SHIFT | (address[odd] & np.uint64(2**48 - 1))
    made[address == 0] = 0
    own_stack = address >> _CLASS_SHIFT == STACK
    made[own_stack] = address[own_stack]
    process = extents.sample_process[sample[rows]]
    for number in np.unique(process):
        mine = np.flatnonzero((process == number) & ~odd)
        part = slice(extents.first[number], extents.first[number + 1])
        if part.start == part.stop:
            continue
        at = np.searchsorted(extents.start[part], address[mine], side="right") - 1
        inside = (at >= 0) & (address[mine] < extents.end[part][np.maximum(at, 0)])
        hit, row = mine[inside], at[inside]
        offset = address[hit] - extents.bias[part][row]
        identity = extents.module[part][row].astype(np.uint64) << np.uint64(_OFFSET_BITS) | offset
        made[hit] = np.uint64(MODULE) << _CLASS_SHIFT | (identity & np.uint64(2**56 - 1))
    result = value.copy()
    result[rows] = made.view(np.int64)
    return result
