"""Writing the raw log while the target runs: bounded, self-contained files, of which the oldest can be dropped."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from whyperf.recording.chunks import ChunkKind, ChunkReader, encode_chunk, log_files
from whyperf.recording.storage import FILE_MODE, make_folder, sync_folder, write_whole

__all__ = ["ChunkKind", "ChunkReader", "RawLogWriter", "RingSource"]

_FILES_KEPT = 8
_UNBOUNDED_FILE_BYTES = 64 << 20
_RESERVE = "reserve"
_RESERVE_BYTES = 256 << 10
_REPEATED_OBJECTS = 10_000
# Taken every second; the newest file has its own.
_NOT_REPEATED = frozenset({"counters"})


class RingSource(Protocol):
    """What the log needs of `collect._session.Drainer`."""

    def drain(self, fd: int, /) -> int: ...
    def new_log_file(self) -> None: ...


class RawLogWriter:
    """Appends chunks from any thread. `max_bytes` bounds all files together; 0 bounds nothing.

    A full disk is an OSError (ENOSPC) that leaves the log as it was. The first one also frees a small reserve, so
    that the reason for stopping can still be written.
    """

    def __init__(self, raw: Path, max_bytes: int = 0) -> None:
        make_folder(raw)
        self._raw = raw
        self._max_bytes = max_bytes
        self._file_bytes = max_bytes // _FILES_KEPT if max_bytes else _UNBOUNDED_FILE_BYTES
        self._lock = threading.RLock()
        self._repeated: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._begun: dict[Path, int] = {}  # when each remaining file was begun
        self._first_begun: int | None = None
        self._descriptor = -1
        self._size = 0
        self._drained_into = -1
        self._number = max((int(path.name[4:]) for path in log_files(raw)), default=0)
        self._make_reserve()
        self._open_next()

    @property
    def overwritten_s(self) -> float:
        """How many seconds of the run were in files that had to be dropped."""
        oldest = min(self._begun.values())
        return (oldest - (self._first_begun or oldest)) / 1e9

    def fileno(self) -> int:
        return self._descriptor

    def append(self, kind: int, payload: bytes) -> None:
        with self._lock:
            self._write(encode_chunk(kind, payload))
            self._rotate_when_full()

    def append_json(self, value: Mapping[str, Any]) -> None:
        """Objects are repeated in later files, the last one of each type, thread, unit and stage."""
        payload = json.dumps(value).encode()
        with self._lock:
            if value.get("type") not in _NOT_REPEATED:
                key = tuple(value.get(name) for name in ("type", "pid", "tid", "unit", "at"))
                self._repeated[key] = payload
                self._repeated.move_to_end(key)
                if len(self._repeated) > _REPEATED_OBJECTS:
                    self._repeated.popitem(last=False)
            self.append(ChunkKind.JSON, payload)

    def drain(self, source: RingSource) -> int:
        """Lets the rings' new records in; how many those were."""
        with self._lock:
            if self._drained_into != self._number:
                source.new_log_file()
                self._drained_into = self._number
            try:
                records = source.drain(self._descriptor)
            except OSError as error:
                self._give_up_reserve(error)
                raise
            self._size = os.fstat(self._descriptor).st_size
            self._rotate_when_full()
            return records

    def rotate(self) -> None:
        """Begins a new file and drops the oldest ones if all together have grown too large."""
        with self._lock:
            os.fdatasync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            self._open_next()
            self._drop_oldest()
            for payload in self._repeated.values():
                self._write(encode_chunk(ChunkKind.JSON, payload))
            if self.overwritten_s:
                overwritten = {"type": "overwritten", "seconds": self.overwritten_s}
                self._write(encode_chunk(ChunkKind.JSON, json.dumps(overwritten).encode()))

    def sync(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)
                os.close(self._descriptor)
                self._descriptor = -1
            (self._raw / _RESERVE).unlink(missing_ok=True)

    def __enter__(self) -> RawLogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_next(self) -> None:
        self._number += 1
        path = self._raw / f"log-{self._number:06}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, FILE_MODE)
        self._size = 0
        self._begun[path] = time.monotonic_ns()
        self._first_begun = self._first_begun or self._begun[path]
        sync_folder(self._raw)

    def _write(self, chunk: bytes) -> None:
        try:
            write_whole(self._descriptor, chunk)
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            self._give_up_reserve(error)
            raise
        self._size += len(chunk)

    def _rotate_when_full(self) -> None:
        if self._size > self._file_bytes:
            self.rotate()

    def _drop_oldest(self) -> None:
        if not self._max_bytes:
            return
        sizes = {path: path.stat().st_size for path in log_files(self._raw)}
        # Room for the file that has just begun is part of the bound.
        while len(sizes) > 1 and sum(sizes.values()) + self._file_bytes > self._max_bytes:
            oldest = min(sizes)
            oldest.unlink()
            del sizes[oldest]
            self._begun.pop(oldest, None)

    def _make_reserve(self) -> None:
        descriptor = os.open(self._raw / _RESERVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            os.posix_fallocate(descriptor, 0, _RESERVE_BYTES)
        finally:
            os.close(descriptor)

    def _give_up_reserve(self, error: OSError) -> None:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            (self._raw / _RESERVE).unlink(missing_ok=True)
