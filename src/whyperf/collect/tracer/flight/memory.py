"""What the daemon remembers of processes: those that live, and those whose last events may still be in the rings."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from whyperf.collect.tracer.facts import Fact, from_json
from whyperf.collect.tracer.facts_file import FactsFile, encoded
from whyperf.collect.tracer.traced import TracedMapping, TracedMappings, TracedProcess, TracedThread
from whyperf.recording.raw_log.chunks import ChunkReader
from whyperf.recording.safe_files.storage import write_new

_KEPT_AFTER_END_S = 900.0  # at most; less where rings reach less far back
_LATE_S = 10.0  # by how much the news of an end may come late
_OF_A_KIND = 64  # what a process that maps and unmaps all day says last
_ROOM = 4 << 20


class FactsMemory:
    """Appends to a file, and writes it anew once most of it is about processes long gone.

    Facts are kept as they are written, which takes a fraction of the memory that objects take. Of what a living process
    has mapped only what is new is written: it is read as a whole each time that something is mapped.
    """

    def __init__(self, path: Path, reach_s: Callable[[], float] = lambda: _KEPT_AFTER_END_S) -> None:
        """`reach_s` says how far back the rings reach: what ended before that is in no event.

        What others wrote into the file before is remembered, too.
        """
        self._reach_s = reach_s
        self._path = path
        self._of: dict[int, dict[type[Fact], list[bytes]]] = defaultdict(dict)
        self._mapped: dict[int, frozenset[TracedMapping]] = {}  # by living processes, when they were last asked
        self._ended: dict[int, float] = {}
        self._file = FactsFile(path)
        self._next_size = _ROOM
        for chunk in ChunkReader().in_bytes(path.read_bytes()):
            fact = from_json(chunk.json())
            if fact is not None:
                self._remembered(fact)
        for pid in self._of:
            if not Path(f"/proc/{pid}").exists():
                self.ended(pid)

    def add(self, facts: Iterable[Fact]) -> None:
        self._file.add_encoded([self._remembered(fact) for fact in facts])
        if self._path.stat().st_size > self._next_size:
            self._rewrite()

    def ended(self, pid: int) -> None:
        if pid in self._of:
            self._ended[pid] = time.monotonic()
            self._mapped.pop(pid, None)

    def close(self) -> None:
        self._file.close()

    def _remembered(self, fact: Fact) -> bytes:
        """As it is to be written; nothing where it says nothing new."""
        if not isinstance(fact, TracedProcess | TracedThread | TracedMappings):
            return encoded(fact)
        self._ended.pop(fact.pid, None)
        alike = self._of[fact.pid].setdefault(type(fact), [])
        if isinstance(fact, TracedProcess):
            self._mapped.pop(fact.pid, None)  # it may be another program from now on
        elif isinstance(fact, TracedMappings):
            if len(alike) == _OF_A_KIND:
                alike.clear()
                self._mapped.pop(fact.pid, None)
            before = self._mapped.get(fact.pid, frozenset())
            self._mapped[fact.pid] = frozenset(fact.rows)
            fact = replace(fact, rows=tuple(row for row in fact.rows if row not in before))
            if not fact.rows:
                return b""
        alike.append(chunk := encoded(fact))
        del alike[:-_OF_A_KIND]
        return chunk

    def _rewrite(self) -> None:
        long_ago = time.monotonic() - min(self._reach_s() + _LATE_S, _KEPT_AFTER_END_S)
        for pid in [pid for pid, when in self._ended.items() if when < long_ago]:
            del self._ended[pid], self._of[pid]
        new = self._path.with_suffix(".new")
        write_new(new, b"".join(chunk for mine in self._of.values() for kind in mine.values() for chunk in kind))
        new.replace(self._path)
        self._file.close()
        self._file = FactsFile(self._path)
        self._next_size = 2 * self._path.stat().st_size + _ROOM
