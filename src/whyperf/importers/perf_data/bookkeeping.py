"""Records that are no samples: who ran, what was mapped, what was lost."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from whyperf.importers.perf_data.attributes import Attributes
from whyperf.importers.perf_data.container import Container
from whyperf.importers.perf_data.layout import HIGHEST_PID, LAST_TIME, MODE_USER, NOBODY, Misc, RecordKind, SampleType

_IDS = struct.Struct("<II")
_FOUR_IDS = struct.Struct("<IIIIQ")  # pid, parent's pid, tid, parent's tid, time
_MMAP = struct.Struct("<IIQQQ")  # pid, tid, address, length, file offset
_MMAP2 = struct.Struct("<IIQQQ24sII")  # the same, then device and inode or the build-id, protection, flags
_BUILD_ID = struct.Struct("<B3x20s")
_INODE = struct.Struct("<8xQ8x")
_EXECUTABLE = 4
_IN_TRAILER = SampleType.ID | SampleType.STREAM_ID | SampleType.CPU | SampleType.IDENTIFIER


@dataclass(frozen=True)
class Renamed:
    """A thread has a new name; by exec its process is a new program too."""

    time: int
    pid: int
    tid: int
    name: str
    by_exec: bool


@dataclass(frozen=True)
class Forked:
    time: int
    pid: int
    tid: int
    parent_pid: int
    parent_tid: int


@dataclass(frozen=True)
class Exited:
    time: int
    pid: int
    tid: int


@dataclass(frozen=True)
class MappedRange:
    """An executable mapping."""

    time: int
    pid: int
    start: int
    end: int
    file_offset: int
    path: str
    build_id: str
    inode: int


@dataclass(frozen=True)
class Switched:
    """A thread left its CPU (perf record --switch-events)."""

    time: int
    pid: int
    tid: int
    cpu: int
    next_pid: int
    next_tid: int
    preempted: bool


Happening = Renamed | Forked | Exited | MappedRange | Switched


@dataclass
class Bookkeeping:
    """What the records say, in the order of their times; synthesised ones, which have none, come first."""

    happenings: list[Happening] = field(default_factory=list)
    kernel_mappings: list[MappedRange] = field(default_factory=list)
    lost: int = 0  # records that perf could not write down in time
    throttled: int = 0  # how often the kernel stopped sampling because it took too long
    skipped: Counter[str] = field(default_factory=Counter)  # records of hardware tracing, or unknown ones


def keep_books(container: Container) -> Bookkeeping:
    books = Bookkeeping()
    trailers = _Trailers(container.events)
    for at in container.others.tolist():
        kind, misc, body = container.record(at)
        try:
            _enter(books, kind, misc, body, trailers)
        except struct.error:
            books.skipped["that make no sense"] += 1
    sound = [one for one in books.happenings if _is_sound(one)]
    if len(sound) < len(books.happenings):
        books.skipped["that make no sense"] += len(books.happenings) - len(sound)
    books.happenings = sorted(sound, key=lambda happening: happening.time)
    return books


def _is_sound(one: Happening) -> bool:
    if one.time >= LAST_TIME or one.pid >= HIGHEST_PID:
        return False
    if isinstance(one, MappedRange):
        return one.start < one.end < 1 << 64
    numbers = [one.tid]
    if isinstance(one, Forked):
        numbers += [one.parent_pid, one.parent_tid]
    elif isinstance(one, Switched):
        numbers += [one.next_pid, one.next_tid]
    return all(number < HIGHEST_PID for number in numbers)


def _enter(books: Bookkeeping, kind: int, misc: int, body: memoryview, trailers: _Trailers) -> None:
    if kind in (RecordKind.MMAP, RecordKind.MMAP2):
        _enter_mapping(books, kind, misc, body, trailers.read(body)[0])
    elif kind == RecordKind.COMM:
        pid, tid = _IDS.unpack_from(body)
        name = _text(body[_IDS.size :])
        books.happenings.append(Renamed(trailers.read(body)[0], pid, tid, name, bool(misc & Misc.COMM_EXEC)))
    elif kind == RecordKind.FORK:
        pid, parent_pid, tid, parent_tid, time = _FOUR_IDS.unpack_from(body)
        books.happenings.append(Forked(time, pid, tid, parent_pid, parent_tid))
    elif kind == RecordKind.EXIT:
        pid, _, tid, _, time = _FOUR_IDS.unpack_from(body)
        books.happenings.append(Exited(time, pid, tid))
    elif kind == RecordKind.SWITCH_CPU_WIDE or (kind == RecordKind.SWITCH and misc & Misc.SWITCH_OUT):
        books.happenings.extend(_switched(kind, misc, body, trailers))
    elif kind == RecordKind.LOST:
        books.lost += struct.unpack_from("<QQ", body)[1]
    elif kind == RecordKind.LOST_SAMPLES:
        books.lost += struct.unpack_from("<Q", body)[0]
    elif kind == RecordKind.THROTTLE:
        books.throttled += 1
    elif kind in (RecordKind.AUX, RecordKind.AUXTRACE, RecordKind.ITRACE_START):
        books.skipped["of hardware tracing"] += 1
    elif kind not in RecordKind._value2member_map_:
        books.skipped["of unknown kinds"] += 1


def _enter_mapping(books: Bookkeeping, kind: int, misc: int, body: memoryview, time: int) -> None:
    build_id, inode, protection = "", 0, _EXECUTABLE
    if kind == RecordKind.MMAP2:
        pid, _, start, size, offset, identity, protection, _ = _MMAP2.unpack_from(body)
        path = _text(body[_MMAP2.size :])
        if misc & Misc.MMAP_BUILD_ID:
            length, raw = _BUILD_ID.unpack_from(identity)
            build_id = raw[:length].hex()
        else:
            (inode,) = _INODE.unpack(identity)
    else:
        pid, _, start, size, offset = _MMAP.unpack_from(body)
        path = _text(body[_MMAP.size :])
    mapped = MappedRange(time, pid, start, start + size, offset, path, build_id, inode)
    if pid == NOBODY or misc & Misc.CPU_MODE != MODE_USER:
        books.kernel_mappings.append(mapped)
    elif protection & _EXECUTABLE and not misc & Misc.MMAP_DATA:
        books.happenings.append(mapped)


def _switched(kind: int, misc: int, body: memoryview, trailers: _Trailers) -> Iterator[Switched]:
    """Those who leave; that somebody came is the other half of the same switch."""
    time, pid, tid, cpu = trailers.read(body)
    next_pid = next_tid = 0
    if kind == RecordKind.SWITCH_CPU_WIDE:
        next_pid, next_tid = _IDS.unpack_from(body)
    if misc & Misc.SWITCH_OUT:
        yield Switched(time, pid, tid, cpu, next_pid, next_tid, bool(misc & Misc.SWITCH_OUT_PREEMPTED))


class _Trailers:
    """What ends every record: when it happened, and to whom. Its make-up depends on the event that wrote it."""

    def __init__(self, events: tuple[Attributes, ...]) -> None:
        self._types = [one.sample_type if one.sample_id_all else 0 for one in events]
        self._event_of = {identity: number for number, one in enumerate(events) for identity in one.ids}

    def read(self, body: memoryview) -> tuple[int, int, int, int]:
        """Time, pid, tid and CPU, zeros where they are not told."""
        kind = self._types[0]
        if kind & SampleType.IDENTIFIER:
            (identity,) = struct.unpack_from("<Q", body, len(body) - 8)
            kind = self._types[self._event_of.get(identity, 0)]
        at = len(body) - 8 * (kind & (_IN_TRAILER | SampleType.TIME | SampleType.TID)).bit_count()
        time = pid = tid = cpu = 0
        if kind & SampleType.TID:
            pid, tid = _IDS.unpack_from(body, at)
            at += 8
        if kind & SampleType.TIME:
            (time,) = struct.unpack_from("<Q", body, at)
            at += 8
        at += 8 * (kind & (SampleType.ID | SampleType.STREAM_ID)).bit_count()
        if kind & SampleType.CPU:
            (cpu,) = struct.unpack_from("<I", body, at)
        return time, pid, tid, cpu


def _text(raw: memoryview) -> str:
    return bytes(raw).split(b"\0", 1)[0].decode(errors="replace")
