"""The raw log's framing: chunks that carry their own length and checksum, so that damage stays where it is."""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from whyperf.recording.safe_files.limits import MOST_LOG_BYTES
from whyperf.recording.safe_files.regular_files import map_regular

MAGIC = b"WPC1"
MAX_PAYLOAD = 4 << 20
_HEADER = struct.Struct("<4sIII")
_CHECKED = struct.Struct("<II")
_CHECKED_TO_READ = 8  # bytes of which checksums are tried behind damage, for each byte of the log


class ChunkKind(IntEnum):
    RING = 1
    JSON = 2
    BLOCKED = 3
    EVENTS = 4  # `struct trace_record`, of one CPU, in time order
    TRACED_STACKS = 5  # `struct traced_stack` with its addresses, one after the other


@dataclass(frozen=True)
class Chunk:
    file: int  # number of the log file: stack ids are unique within one
    kind: int
    payload: memoryview

    def json(self) -> dict[str, Any]:
        """The object of a JSON chunk; an empty one when it is not an object."""
        try:
            value = json.loads(bytes(self.payload))
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def encode_chunk(kind: int, payload: bytes) -> bytes:
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"a chunk of {len(payload)} bytes is too long")
    crc = zlib.crc32(payload, zlib.crc32(_CHECKED.pack(kind, len(payload))))
    return _HEADER.pack(MAGIC, kind, len(payload), crc) + payload


def _length_at(data: memoryview, at: int) -> int:
    """Of the payload of what looks like a chunk that begins at `at`; -1 if nothing does."""
    if len(data) - at < _HEADER.size:
        return -1
    magic, _, length, _ = _HEADER.unpack_from(data, at)
    whole = magic == MAGIC and length <= min(MAX_PAYLOAD, len(data) - at - _HEADER.size)
    return int(length) if whole else -1


def _payload_at(data: memoryview, at: int) -> tuple[int, memoryview] | None:
    """Kind and payload of the chunk that begins at `at`, if a sound one does."""
    if _length_at(data, at) < 0:
        return None
    _, kind, length, crc = _HEADER.unpack_from(data, at)
    first = at + _HEADER.size
    payload = data[first : first + length]
    sound = zlib.crc32(payload, zlib.crc32(_CHECKED.pack(kind, length))) == crc
    return (kind, payload) if sound else None


def log_files(raw: Path) -> list[Path]:
    """Oldest first."""
    return sorted(raw.glob("log-??????"))


class ChunkReader:
    """Iterates over every sound chunk, oldest first; `damaged_bytes` counts what had to be passed over so far."""

    def __init__(self) -> None:
        self.damaged_bytes = 0

    def in_folder(self, raw: Path) -> Iterator[Chunk]:
        for number, path in enumerate(log_files(raw)):
            yield from self.in_file(path, number)

    def in_file(self, path: Path, number: int = 0) -> Iterator[Chunk]:
        yield from self.in_bytes(map_regular(path, MOST_LOG_BYTES), number)

    def in_bytes(self, content: bytes | memoryview, number: int = 0) -> Iterator[Chunk]:
        data = memoryview(content)
        at, search = 0, _Search(data)
        while at < len(data):
            found = _payload_at(data, at)
            if found is None:
                resumed = search.next_sound(at + 1)
                self.damaged_bytes += resumed - at
                at = resumed
                continue
            kind, payload = found
            yield Chunk(number, kind, payload)
            at += _HEADER.size + len(payload)


class _Search:
    """Looks for sound chunks behind damage. What merely looks like chunks must not take for ever to be checked."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._content: bytes | mmap.mmap = data.obj if isinstance(data.obj, mmap.mmap | bytes) else bytes(data)
        self._room = _CHECKED_TO_READ * len(data) + MAX_PAYLOAD

    def next_sound(self, at: int) -> int:
        while self._room > 0 and (at := self._content.find(MAGIC, at)) >= 0:
            if _payload_at(self._data, at) is not None:
                return at
            self._room -= max(0, _length_at(self._data, at))
            at += 1
        return len(self._data)
