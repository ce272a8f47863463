"""Writing the raw log while the target runs: bounded, self-contained files, of which the oldest can be dropped."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from whyperf.recording.raw_log.chunks import ChunkKind, encode_chunk, log_files
from whyperf.recording.safe_files.storage import FILE_MODE, make_folder, sync_folder, write_whole

_FILES_KEPT = 8
_UNBOUNDED_FILE_BYTES = 64 << 20
_REPEATED_OBJECTS = 10_000
# Taken every second; the newest file has its own.
_NOT_REPEATED = frozenset({"counters"})


class RawLogWriter:
    """Appends chunks from any thread. `max_bytes` bounds all files together; 0 bounds nothing.

    A full disk is an OSError (ENOSPC) that leaves the log as it was.
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
        self._number = max((int(path.name[4:]) for path in log_files(raw)), default=0)
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

    def rotate(self) -> bool:
        """Begins a new file if this one is full, and drops the oldest if all together have grown too large.

        Tell the drainer when it is True: what it knows of living processes must be repeated.
        """
        with self._lock:
            if os.fstat(self._descriptor).st_size <= self._file_bytes:
                return False
            full = self._descriptor
            os.fdatasync(full)
            self._open_next()
            os.close(full)
            for payload in self._repeated.values():
                self._write(encode_chunk(ChunkKind.JSON, payload))
            self._drop_oldest()
            return True

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
        self._begun[path] = time.monotonic_ns()
        self._first_begun = self._first_begun or self._begun[path]
        sync_folder(self._raw)

    def _write(self, chunk: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            write_whole(self._descriptor, chunk)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise

    def _drop_oldest(self) -> None:
        sizes = {path: path.stat().st_size for path in log_files(self._raw)}
        dropped = []
        # Room for the file that has just begun is part of the bound.
        while self._max_bytes and len(sizes) > 1 and sum(sizes.values()) + self._file_bytes > self._max_bytes:
            dropped.append(min(sizes))
            del sizes[dropped[-1]]
            self._begun.pop(dropped[-1], None)
        if self.overwritten_s:
            # Said before it is true, so that a recorder killed in between has not lost anything in silence.
            overwritten = {"type": "overwritten", "seconds": self.overwritten_s}
            self._write(encode_chunk(ChunkKind.JSON, json.dumps(overwritten).encode()))
        for path in dropped:
            path.unlink()
