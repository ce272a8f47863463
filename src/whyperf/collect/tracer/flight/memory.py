"""What the daemon remembers of processes: those that live, and those whose last events may still be in the rings."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from whyperf.collect.tracer.facts import Fact, to_json
from whyperf.collect.tracer.facts_file import FactsFile
from whyperf.collect.tracer.traced import TracedMappings, TracedProcess, TracedThread
from whyperf.recording.raw_log.chunks import ChunkKind, encode_chunk
from whyperf.recording.safe_files.storage import write_new

_KEPT_AFTER_END_S = 900.0  # at most; less where rings reach less far back
_LATE_S = 10.0  # by how much the news of an end may come late
_PER_PROCESS = 64  # what a process that maps and unmaps all day says last
_ROOM = 4 << 20


class FactsMemory:
    """Appends to a file, and writes it anew once most of it is about processes long gone."""

    def __init__(self, path: Path, reach_s: Callable[[], float] = lambda: _KEPT_AFTER_END_S) -> None:
        """`reach_s` says how far back the rings reach: what ended before that is in no event."""
        self._reach_s = reach_s
        self._path = path
        self._of: dict[int, list[Fact]] = defaultdict(list)
        self._ended: dict[int, float] = {}
        self._file = FactsFile(path)
        self._next_size = _ROOM

    def add(self, facts: Iterable[Fact]) -> None:
        new = list(facts)
        for fact in new:
            if isinstance(fact, TracedProcess | TracedThread | TracedMappings):
                mine = self._of[fact.pid]
                mine.append(fact)
                del mine[:-_PER_PROCESS]
                self._ended.pop(fact.pid, None)
        self._file.add(new)
        if self._path.stat().st_size > self._next_size:
            self._rewrite()

    def ended(self, pid: int) -> None:
        if pid in self._of:
            self._ended[pid] = time.monotonic()

    def close(self) -> None:
        self._file.close()

    def _rewrite(self) -> None:
        long_ago = time.monotonic() - min(self._reach_s() + _LATE_S, _KEPT_AFTER_END_S)
        for pid in [pid for pid, when in self._ended.items() if when < long_ago]:
            del self._ended[pid], self._of[pid]
        chunks = (
            encode_chunk(ChunkKind.JSON, json.dumps(to_json(fact)).encode())
            for mine in self._of.values()
            for fact in mine
        )
        new = self._path.with_suffix(".new")
        write_new(new, b"".join(chunks))
        new.replace(self._path)
        self._file.close()
        self._file = FactsFile(self._path)
        self._next_size = 2 * self._path.stat().st_size + _ROOM
