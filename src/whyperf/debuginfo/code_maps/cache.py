"""What is known of binaries on disk, by build-id: a 64-byte header with a checksum, then columns as an Arrow IPC file
that is mapped when read.

Files are written aside and renamed, so that processes running at the same time see a whole file or none. Whatever
goes wrong here (no space, no permission, a damaged file) costs time, never the result.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.debuginfo.code_maps.code_map import CodeMap
from whyperf.recording.safe_files.private_folders import cache_root, private_folder

Columns = dict[str, npt.NDArray[Any]]

_VERSION = 1
_HEADER = struct.Struct("<8sIIQ")  # magic, version, CRC-32 of the rest, its length
_HEADER_BYTES = 64
_MAGIC = b"WPCODEMP"
_SUFFIX = ".codemap"
_BYTES_MAX = 2 << 30


def default_folder() -> Path:
    """This user's own; WhyperfError where another user may have planted it."""
    folder = cache_root() / "debuginfo"
    with contextlib.suppress(OSError):
        private_folder(folder)
    return folder


def load(folder: Path, key: str) -> CodeMap | None:
    """None when there is no entry, or none that can be trusted."""
    return _code_map(folder / (key + _SUFFIX))


def load_any(folder: Path, key_start: str) -> CodeMap | None:
    """An entry whose key starts so: for binaries that are gone."""
    try:
        found = sorted(path for path in folder.iterdir() if path.name.startswith(key_start) and path.suffix == _SUFFIX)
    except OSError:
        return None
    return next((code for path in found if (code := _code_map(path)) is not None), None)


def store(folder: Path, key: str, code: CodeMap) -> None:
    store_columns(folder, key + _SUFFIX, code.columns())


def load_columns(folder: Path, name: str) -> Columns | None:
    """What `store_columns` put there under that name; None when there is none, or none that can be trusted."""
    return _read(folder / name)


def store_columns(folder: Path, name: str, columns: Columns) -> None:
    payload = _serialised(columns)
    header = _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(payload), len(payload)).ljust(_HEADER_BYTES, b"\0")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(dir=folder, prefix=".new-")
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(header)
            file.write(payload)
        Path(aside).replace(folder / name)
    except OSError:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
    else:
        _drop_oldest(folder)


def _serialised(columns: Columns) -> memoryview:
    """One record batch of one row: the columns differ in length, so each is one list."""
    batch = pa.record_batch([_as_list(array) for array in columns.values()], names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def _as_list(array: npt.NDArray[Any]) -> pa.LargeListArray[Any]:
    values = array.view(np.uint8) if array.dtype == np.bool_ else array
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), pa.array(np.ascontiguousarray(values)))


def _code_map(path: Path) -> CodeMap | None:
    columns = _read(path)
    try:
        return None if columns is None else CodeMap.from_columns(columns)
    except KeyError:
        return None


def _read(path: Path) -> Columns | None:
    try:
        with path.open("rb") as file:
            memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    whole = memoryview(memory)
    if len(whole) < _HEADER_BYTES:
        return None
    magic, version, checksum, length = _HEADER.unpack_from(whole)
    payload = whole[_HEADER_BYTES:]
    if magic != _MAGIC or version != _VERSION or length != len(payload) or zlib.crc32(payload) != checksum:
        return None
    try:
        return dict(_columns(pa.py_buffer(payload)))
    except (pa.ArrowException, ValueError):
        return None


def _columns(payload: pa.Buffer) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    batch = pa.ipc.open_file(payload).get_batch(0)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        assert isinstance(column, pa.LargeListArray)
        values = column.values.to_numpy(zero_copy_only=True)
        is_flag = name in ("function_inlined", "function_noreturn")
        yield name, values.view(np.bool_) if is_flag else values


def _drop_oldest(folder: Path) -> None:
    """Keeps the folder's size bounded; entries in use stay mapped."""
    with contextlib.suppress(OSError):
        entries = sorted(
            (
                (status.st_mtime, status.st_size, entry.path)
                for entry in os.scandir(folder)
                for status in [entry.stat()]
            ),
            reverse=True,
        )
        total = 0
        for _, size, path in entries:
            total += size
            if total > _BYTES_MAX:
                Path(path).unlink()
