"""Who is who in another recording: numbers of processes mean nothing there, and arguments often differ.

A thread is known by its program and its own name. Whatever else could tell it from its like, the place of its process
in the tree, the code that started it, the words of its command line, counts only as far as the recordings share it: a
temporary file's name or the very argument that made the difference says nothing of what a process is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from whyperf.engines.causes.causal_graph.trace import EventTrace
from whyperf.engines.run import ints, texts
from whyperf.recording.schemas.events import EventKind

_NUMBERS = re.compile(r"[\d:/#-]+")
_VERSION = "0123456789.-"
_DEEPEST = 32  # ancestors that are asked for
_SPAWN_FRAMES = 3  # innermost functions of whoever started a thread, outside the C library


@dataclass(frozen=True)
class ThreadPart:
    """What a thread is for, as far as every recording can tell."""

    program: str  # without its version; empty where only one of the recordings has it
    name: str  # without numbers; empty for main threads
    marks: frozenset[str]

    @property
    def broad(self) -> ThreadPart:
        """The same without what tells it from its like."""
        return ThreadPart(self.program, self.name, frozenset())


ThreadParts = tuple[ThreadPart, ...]  # by thread


def match_threads(stalled: EventTrace, normals: Sequence[EventTrace]) -> tuple[ThreadParts, ...]:
    """Parts of all threads, the stalled recording's first."""
    all_known = [_known(trace) for trace in (stalled, *normals)]
    if normals:
        mine = _marks(all_known[:1])
        theirs = _marks(all_known[1:])
        shared = {program: marks & theirs[program] for program, marks in mine.items() if program in theirs}
        # What has no namesake in the other recordings may still be the same program under a new name.
        renamed = _marks_of_strangers(mine, shared) & _marks_of_strangers(theirs, shared)
    else:
        shared, renamed = _marks(all_known), frozenset[str]()
    return tuple(
        tuple(
            ThreadPart(one.program, one.name, one.marks & shared[one.program])
            if one.program in shared
            else ThreadPart("", one.name, one.marks & renamed)
            for one in known
        )
        for known in all_known
    )


def _marks(all_known: Sequence[ThreadParts]) -> dict[str, frozenset[str]]:
    """By program."""
    found: dict[str, set[str]] = {}
    for one in (part for known in all_known for part in known):
        found.setdefault(one.program, set()).update(one.marks)
    return {program: frozenset(marks) for program, marks in found.items()}


def _marks_of_strangers(marks: dict[str, frozenset[str]], shared: dict[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(each for program, each in marks.items() if program not in shared))


def _known(trace: EventTrace) -> ThreadParts:
    """All that one recording tells of its threads."""
    places, words, starts = _places(trace), _words(trace), dict(_starts(trace))
    return tuple(
        ThreadPart(
            thread.file.rstrip(_VERSION) or thread.file,
            "" if thread.main else _NUMBERS.sub("", thread.name),
            frozenset(
                {
                    *(words[thread.process] if thread.process >= 0 else ()),
                    *((places[thread.process],) if thread.process >= 0 else ()),
                    *((starts[number],) if number in starts else ()),
                }
            ),
        )
        for number, thread in enumerate(trace.threads)
    )


def _words(trace: EventTrace) -> list[set[str]]:
    """Of command lines, without numbers, which are ports, sizes and process numbers."""
    commands = trace.recording.table("processes").column("command").to_pylist()
    return [{_NUMBERS.sub("#", word) for word in (command or [])[1:]} - {"#"} for command in commands]


def _places(trace: EventTrace) -> list[str]:
    """By process, the programs of its ancestors."""
    table = trace.recording.table("processes")
    pids, parents = ints(table, "pid"), ints(table, "parent_pid")
    row_of = {pid: row for row, pid in enumerate(pids)}
    names = [PurePosixPath(path).name.rstrip(_VERSION) for path in texts(table, "executable")]
    return [f"under {' < '.join(names[row] for row in _ancestors(row, row_of, parents))}" for row in range(len(pids))]


def _ancestors(row: int, row_of: dict[int, int], parents: Sequence[int]) -> Iterator[int]:
    for _ in range(_DEEPEST):
        above = row_of.get(parents[row])
        if above is None or above == row:
            return
        yield above
        row = above


def _starts(trace: EventTrace) -> Iterator[tuple[int, str]]:
    """By thread, the functions within which it was started."""
    events = trace.events
    for row in np.flatnonzero((events.kind == EventKind.FORK) & (events.other >= 0) & (events.site >= 0)).tolist():
        frames = [one for one in trace.stacks.frames(int(events.site[row])) if one.origin not in ("libc", "vdso")]
        if frames:
            names = " < ".join(frame.function for frame in frames[:_SPAWN_FRAMES])
            yield int(events.other[row]), f"started in {names}"
