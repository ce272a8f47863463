"""Who took part: processes, threads and mappings as sealing wants them, and records of their coming and going."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.collect.tracer.traced import RECORD, Records, TracedMappings, TracedProcess, TracedThread
from whyperf.importers.perf_data.binaries import Binaries
from whyperf.importers.perf_data.bookkeeping import Exited, Forked, Happening, MappedRange, Renamed, Switched
from whyperf.importers.perf_data.events import NO_DETAIL
from whyperf.recording.schemas.events import EventKind

_NAME_BYTES = 16
_SLEEPING = 1


@dataclass(frozen=True)
class ImportedParticipants:
    processes: tuple[TracedProcess, ...]
    threads: tuple[TracedThread, ...]
    mappings: tuple[TracedMappings, ...]
    records: Records


def participants(
    happenings: Sequence[Happening], binaries: Binaries, begin: int, *, switches: bool
) -> ImportedParticipants:
    """`begin`: when what perf synthesised was so; `switches`: whether they are wanted too."""
    parents = {one.pid: one.parent_pid for one in happenings if isinstance(one, Forked) and one.pid != one.parent_pid}
    names: dict[tuple[int, int], str] = {}
    processes: list[TracedProcess] = []
    mappings: list[TracedMappings] = []
    for row, one in enumerate(happenings):
        if isinstance(one, Renamed):
            if one.pid == one.tid and (one.by_exec or one.time == 0):
                executable = _executable(happenings[row + 1 :], one)
                parent = parents.get(one.pid, 0)
                processes.append(
                    TracedProcess(one.time or begin, one.pid, parent, one.name, executable, (executable or one.name,))
                )
            names[one.pid, one.tid] = one.name
        elif isinstance(one, MappedRange) and (mapping := binaries.mapping(one)) is not None:
            mappings.append(TracedMappings(one.time or begin, one.pid, (mapping,)))
    threads = tuple(TracedThread(pid, tid, name) for (pid, tid), name in names.items())
    return ImportedParticipants(tuple(processes), threads, tuple(mappings), _records(happenings, switches))


def _executable(later: Iterable[Happening], program: Renamed) -> str:
    """A program's own file is the first that its process maps."""
    for one in later:
        if isinstance(one, MappedRange) and one.pid == program.pid and one.path.startswith("/"):
            return one.path
        if isinstance(one, Renamed) and one.pid == program.pid and one.by_exec:
            break
    return ""


def _records(happenings: Sequence[Happening], switches: bool) -> Records:
    """Forks, execs, renames and exits that perf saw happen."""
    seen = [one for one in happenings if one.time and not isinstance(one, MappedRange)]
    seen = [one for one in seen if switches or not isinstance(one, Switched)]
    records = np.zeros(len(seen), RECORD)
    records["detail"] = NO_DETAIL
    names = {one.tid: one.name for one in happenings if isinstance(one, Renamed) and not one.time}
    for record, one in zip(records, seen, strict=True):
        record["time"], record["pid"], record["tid"] = one.time, one.pid, one.tid
        if isinstance(one, Renamed):
            record["kind"] = EventKind.EXEC if one.by_exec else EventKind.RENAME
            record["argument"][:2] = _packed(one.name)
            names[one.tid] = one.name
        elif isinstance(one, Forked):
            record["kind"], record["other"] = EventKind.FORK, one.pid << 32 | one.tid
            names[one.tid] = names.get(one.parent_tid, "")
            record["argument"][:2] = _packed(names[one.tid])
            record["pid"], record["tid"] = one.parent_pid, one.parent_tid
        elif isinstance(one, Switched):
            record["kind"], record["cpu"] = EventKind.SWITCH, one.cpu
            record["other"] = one.next_pid << 32 | one.next_tid
            record["result"] = 0 if one.preempted else _SLEEPING
        elif isinstance(one, Exited):
            record["kind"] = EventKind.EXIT
    return records


def _packed(name: str) -> tuple[int, ...]:
    return struct.unpack("<QQ", name.encode()[: _NAME_BYTES - 1].ljust(_NAME_BYTES, b"\0"))
