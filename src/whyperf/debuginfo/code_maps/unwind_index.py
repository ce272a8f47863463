"""Where functions lie according to the unwind tables: all that is left of them in a stripped program.

`.eh_frame_hdr` lists every function's start and the address of its entry in `.eh_frame`, which also says its length.
Only the encodings that linkers for 64-bit machines write are read. An entry must repeat the start that the index gives:
that tells damage, and entries encoded in another way.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.code_maps.code_map import Addresses
from whyperf.debuginfo.elf_files.elf import ElfFile

_VERSION_AND_ENCODINGS = bytes((1, 0x1B, 0x03, 0x3B))  # pcrel|sdata4, udata4, datarel|sdata4
_HEADER = struct.Struct("<4siI")
_ENTRY_WORDS = 4  # length, distance of the common entry, start, size


@dataclass(frozen=True, eq=False)
class CodeRanges:
    """Sorted, without overlaps."""

    low: Addresses
    high: Addresses
    entry: Addresses
    """Where `.eh_frame` describes each."""


def unwind_ranges(elf: ElfFile) -> CodeRanges:
    """Of all functions with unwind information, without the linkage stubs."""
    starts, entries = _index(elf)
    low, high, entry = _described(elf, starts, entries)
    inside = np.zeros(len(low), np.bool_)
    for segment in elf.segments:
        if segment.executable:
            inside |= (low >= segment.address) & (high <= segment.address + segment.file_size)
    for first, end in elf.linkage:
        inside &= (high <= first) | (low >= end)
    low, first_rows = np.unique(low[inside], return_index=True)
    high = high[inside][first_rows]
    high[:-1] = np.minimum(high[:-1], low[1:])
    return CodeRanges(low.astype(np.uint64), high.astype(np.uint64), entry[inside][first_rows].astype(np.uint64))


def _index(elf: ElfFile) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Starts of functions and the addresses of their entries, as the index says."""
    none = np.zeros(0, np.int64)
    address, size = elf.unwind_index
    content = elf.code(address, address + size) if size >= _HEADER.size else b""
    if len(content) < _HEADER.size or not 0 < address < 1 << 62:
        return none, none
    encodings, _, count = _HEADER.unpack_from(content)
    if encodings != _VERSION_AND_ENCODINGS:
        return none, none
    count = min(count, (len(content) - _HEADER.size) // 8)
    pairs = np.frombuffer(content, "<i4", 2 * count, _HEADER.size).astype(np.int64).reshape(-1, 2) + address
    return pairs[:, 0], pairs[:, 1]


def _described(
    elf: ElfFile, starts: npt.NDArray[np.int64], entries: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The ranges of those entries that say of themselves what the index says of them, and the entries."""
    none = np.zeros(0, np.int64)
    holder = next((s for s in elf.segments if len(entries) and _holds(s.address, s.file_size, entries[0])), None)
    if holder is None:
        return none, none, none
    within = (entries >= holder.address) & (entries + 4 * _ENTRY_WORDS <= holder.address + holder.file_size)
    starts, entries = starts[within], entries[within]
    if not len(entries):
        return none, none, none
    base = int(entries.min())
    content = elf.code(base, int(entries.max()) + 4 * _ENTRY_WORDS)
    if not content:
        return none, none, none
    bytes_of = (entries - base)[:, None] + np.arange(4 * _ENTRY_WORDS)
    words = np.frombuffer(content, np.uint8)[bytes_of].view("<u4").astype(np.int64)
    own_start = entries + 8 + words[:, 2].astype(np.uint32).view(np.int32)
    sound = (own_start == starts) & (words[:, 0] >= 12) & (words[:, 1] > 0) & (words[:, 3] > 0)
    return starts[sound], (starts + words[:, 3])[sound], entries[sound]


def _holds(address: int, size: int, wanted: int) -> bool:
    return address <= wanted < address + size
