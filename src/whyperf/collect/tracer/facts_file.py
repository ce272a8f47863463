"""Writing what must outlive old events: facts and stacks, appended as they become known."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from whyperf.collect.tracer.facts import Fact, to_json
from whyperf.recording.raw_log.chunks import MAX_PAYLOAD, ChunkKind, encode_chunk
from whyperf.recording.safe_files.storage import FILE_MODE, write_whole

_STACKS_AT_ONCE = MAX_PAYLOAD - (1 << 16)


class FactsFile:
    """OSError when the disk is full."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, FILE_MODE)

    def add(self, facts: Iterable[Fact]) -> None:
        self.add_encoded(encoded(fact) for fact in facts)

    def add_encoded(self, chunks: Iterable[bytes]) -> None:
        together = b"".join(chunks)
        if together:
            write_whole(self._descriptor, together)

    def add_stacks(self, packed: bytes) -> None:
        for part in stack_parts(packed):
            write_whole(self._descriptor, encode_chunk(ChunkKind.TRACED_STACKS, part))

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def encoded(fact: Fact) -> bytes:
    return encode_chunk(ChunkKind.JSON, json.dumps(to_json(fact)).encode())


def stack_parts(packed: bytes) -> Iterable[bytes]:
    """Pieces of whole stacks that fit into a chunk each."""
    begin = at = 0
    while at + 8 <= len(packed):
        size = 8 + 8 * int.from_bytes(packed[at + 4 : at + 6], "little")
        if at + size - begin > _STACKS_AT_ONCE:
            yield packed[begin:at]
            begin = at
        at += size
    if begin < len(packed):
        yield packed[begin:]
