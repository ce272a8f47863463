"""Calls the native reader and names what it hands over."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo import _debuginfo

_MAGIC = 0x316F666E69627077
_CPU_SECONDS = 60
_CPU_SECONDS_PER_MB = 0.5
_DOWNLOAD_SECONDS = 1200

# By the last part of a column's name; whatever is not here is int32.
_TYPES: dict[str, np.dtype[Any]] = {
    **dict.fromkeys(("address", "count", "entry", "start", "low", "high"), np.dtype(np.uint64)),
    **dict.fromkeys(("bytes", "kind", "mangled", "noreturn", "scope_kind"), np.dtype(np.uint8)),
    "offsets": np.dtype(np.int64),
}


class ReadingEnd(IntEnum):
    """How reading ended; `native/debuginfo/isolate.h` has the same numbers."""

    DONE = 0
    FAILED = 1
    CRASHED = 2
    TIMEOUT = 3
    NO_CHILD = 4


@dataclass(frozen=True)
class Extraction:
    end: ReadingEnd
    columns: dict[str, npt.NDArray[Any]]
    """By name as in `native/debuginfo/extract.c`; empty unless done."""

    @property
    def has_dwarf(self) -> bool:
        return bool(self.columns["summary"][0])

    @property
    def missing_split_units(self) -> int:
        return int(self.columns["summary"][1])


def extract(path: str, size: int, debug_folders: Sequence[Path], *, symbols_only: bool = False) -> Extraction:
    """Reads `path` and the debug files that belong to it, in a child process with bounded time and memory."""
    cpu_seconds, wall_seconds = _limits(size)
    return _columns_of(_debuginfo.extract(path, _search_path(debug_folders), symbols_only, cpu_seconds, wall_seconds))


def extract_variables(path: str, size: int, debug_folders: Sequence[Path]) -> Extraction:
    """The same for the variables table; its columns are named in `native/debuginfo/variables.c`."""
    cpu_seconds, wall_seconds = _limits(size)
    return _columns_of(_debuginfo.extract_variables(path, _search_path(debug_folders), cpu_seconds, wall_seconds))


def extract_layouts(path: str, size: int, debug_folders: Sequence[Path], entries: Sequence[int]) -> Extraction:
    """The same for how the functions at these addresses are called, and the structures that they know of: text."""
    cpu_seconds, wall_seconds = _limits(size)
    wanted = np.array(entries, np.uint64).tobytes()
    found = _debuginfo.extract_layouts(path, _search_path(debug_folders), wanted, cpu_seconds, wall_seconds)
    return _columns_of(found)


def _limits(size: int) -> tuple[int, int]:
    cpu_seconds = int(_CPU_SECONDS + size / 1e6 * _CPU_SECONDS_PER_MB)
    return cpu_seconds, 4 * cpu_seconds + (_DOWNLOAD_SECONDS if os.environ.get("DEBUGINFOD_URLS") else 0)


def _search_path(debug_folders: Sequence[Path]) -> str:
    """Empty: beside the binary. The rest are roots with .build-id folders and copies of the file system's."""
    return ":".join(["", ".debug", *map(str, debug_folders)])


def _columns_of(result: tuple[int, int]) -> Extraction:
    number, descriptor = result
    if number != ReadingEnd.DONE:
        return Extraction(ReadingEnd(number), {})
    try:
        columns = _read(descriptor)
    finally:
        os.close(descriptor)
    return Extraction(ReadingEnd.DONE if columns else ReadingEnd.CRASHED, columns)


def _read(descriptor: int) -> dict[str, npt.NDArray[Any]]:
    if not os.fstat(descriptor).st_size:
        return {}
    memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
    magic, count = struct.unpack_from("=QQ", memory)
    if magic != _MAGIC:
        return {}
    columns: dict[str, npt.NDArray[Any]] = {}
    for i in range(count):
        raw_name, offset, size = struct.unpack_from("=24sQQ", memory, 16 + 40 * i)
        name = raw_name.rstrip(b"\0").decode()
        kind = _TYPES.get(name.rpartition(".")[2], np.dtype(np.int32))
        # numpy refuses an offset at the end of the buffer, where an empty last column is.
        columns[name] = np.frombuffer(memory, kind, size // kind.itemsize, offset) if size else np.empty(0, kind)
    return columns
