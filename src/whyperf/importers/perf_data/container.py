"""The file itself: its header, or in pipe mode what stands for one among the records."""

from __future__ import annotations

import contextlib
import os
import shlex
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.errors import WhyperfError
from whyperf.importers._perf_data import find_records
from whyperf.importers.perf_data import layout
from whyperf.importers.perf_data.attributes import Attributes, parse_attributes
from whyperf.importers.perf_data.features import Features, parse_build_id, parse_features
from whyperf.importers.perf_data.layout import RECORD_HEADER, Feature, RecordKind
from whyperf.recording.safe_files.regular_files import map_regular

_RECORD_AGAIN = "perf record -o perf.data -- COMMAND"
_NAME_UPDATE = 2  # of an EVENT_UPDATE
_DECOMPRESSED_AT_ONCE = 1 << 20
# Records compress to a tenth, and to a thirtieth where a program does the same thing all the time.
_DECOMPRESSED_TO_PACKED = 100
_DECOMPRESSED_ALWAYS = 64 << 20
_END_OF_STREAM = b"\x01\0\0"  # an empty last block of zstd: perf flushes its stream, but never ends it

Offsets = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Container:
    """A perf.data file whose records have been found but not understood."""

    events: tuple[Attributes, ...]
    features: Features
    data: memoryview
    samples: Offsets
    others: Offsets
    notes: tuple[str, ...]  # what is missing or odd about the file
    damaged_bytes: int
    changed_ns: int  # when the file was last written: real time

    @property
    def machine(self) -> str:
        """As `uname -m` names it: this one, where perf was killed before it said so."""
        return self.features.machine or os.uname().machine

    @property
    def is_of_this_machine(self) -> bool:
        return self.machine == os.uname().machine

    def record(self, at: int) -> tuple[int, int, memoryview]:
        """Type, misc and what follows the header."""
        kind, misc, size = RECORD_HEADER.unpack_from(self.data, at)
        return kind, misc, self.data[at + RECORD_HEADER.size : at + size]


def open_container(path: Path) -> Container:
    data, changed = _mapped(path)
    magic = bytes(data[:8])
    if magic == layout.MAGIC_OTHER_ORDER:
        raise WhyperfError(
            f"{path} was recorded on a machine of the other byte order (big-endian); only x86-64 and aarch64 "
            f"recordings can be imported.",
            "perf script -i perf.data  # on that machine",
        )
    if magic != layout.MAGIC:
        raise _not_perf_data(path)
    if len(data) < layout.PIPE_HEADER_BYTES:
        raise _cut_short(path)
    (size,) = struct.unpack_from("<Q", data, 8)
    read = _from_pipe if size == layout.PIPE_HEADER_BYTES else _from_file
    container = read(path, data, changed)
    machine = container.features.machine
    if machine not in ("", "x86_64", "aarch64"):
        raise WhyperfError(
            f"{path} was recorded on {printable_name(machine)}; only x86-64 and aarch64 recordings can be imported.",
            "uname -m",
        )
    if not container.events:
        raise WhyperfError(f"{path} describes no event: perf was killed before it wrote anything.", _RECORD_AGAIN)
    return container


def printable_name(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _mapped(path: Path) -> tuple[memoryview, int]:
    try:
        if path.is_dir():
            if (path / "data").is_file():  # perf record --threads: one file a thread
                raise WhyperfError(
                    f"{path} is a folder that perf record --threads made; record without --threads.", _RECORD_AGAIN
                )
            raise _not_perf_data(path)
        content = map_regular(path, sys.maxsize, follow=True)
        if not content:
            raise WhyperfError(f"{path} is empty: perf was killed before it wrote anything.", _RECORD_AGAIN)
        return content, path.stat().st_mtime_ns
    except FileNotFoundError:
        raise WhyperfError(f"There is no file {path}.", _RECORD_AGAIN) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise WhyperfError(f"{path} cannot be read: {why}.", f"ls -l {shlex.quote(str(path))}") from None


def _not_perf_data(path: Path) -> WhyperfError:
    return WhyperfError(f"{path} is no perf.data file: it does not begin as one.", _RECORD_AGAIN)


def _cut_short(path: Path) -> WhyperfError:
    return WhyperfError(f"{path} was cut short: even its header is incomplete.", _RECORD_AGAIN)


def _bare(data: memoryview, changed: int) -> Container:
    none = np.zeros(0, np.uint64)
    return Container((), Features(), data, none, none, (), 0, changed)


def _from_file(path: Path, data: memoryview, changed: int) -> Container:
    if len(data) < layout.HEADER.size:
        raise _cut_short(path)
    _, _, attribute_bytes, attributes_at, attributes_size, start, size, _, _, *flags = layout.HEADER.unpack_from(data)
    notes: list[str] = []
    end = start + size
    if size == 0 or start > len(data):
        notes.append("perf was killed before it finished the file: build-ids and host are unknown.")
        end = len(data)
    elif end > len(data):
        notes.append(f"The file was cut short: {end - len(data):,} of its {size:,} bytes of records are missing.")
        end = len(data)
    start = min(start, end)
    sections = list(_feature_sections(data, start + size, flags)) if size and start + size <= len(data) else []
    features = parse_features(sections)
    if not notes and (len(sections) < sum(word.bit_count() for word in flags) or None in dict(sections).values()):
        notes.append("The file was cut short behind its records: what perf wrote about the host may be missing.")
    try:
        events = tuple(_listed_events(data, attributes_at, attributes_size, attribute_bytes))
    except (struct.error, ValueError):
        raise _cut_short(path) from None
    if features.events and len(features.events) == len(events):
        events = tuple(replace(one, name=said.name) for one, said in zip(events, features.events, strict=True))
    described = replace(_bare(data, changed), events=events, features=features, notes=tuple(notes))
    return _with_records(path, described, start, end)


def _listed_events(data: memoryview, at: int, size: int, each: int) -> Iterator[Attributes]:
    if each <= layout.SECTION.size or at + size > len(data):
        raise ValueError("the events' descriptions lie outside of the file")
    for first in range(at, at + size - each + 1, each):
        ids_at, ids_size = layout.SECTION.unpack_from(data, first + each - layout.SECTION.size)
        if ids_at + ids_size > len(data):
            raise ValueError("an event's numbers lie outside of the file")
        ids = struct.unpack_from(f"<{ids_size // 8}Q", data, ids_at)
        yield parse_attributes(data[first : first + each - layout.SECTION.size], ids)


def _feature_sections(data: memoryview, at: int, flags: list[int]) -> Iterator[tuple[int, memoryview | None]]:
    """By number; None where it lies beyond the file's end."""
    for number in range(64 * len(flags)):
        if flags[number // 64] >> number % 64 & 1 and at + layout.SECTION.size <= len(data):
            offset, size = layout.SECTION.unpack_from(data, at)
            at += layout.SECTION.size
            yield number, data[offset : offset + size] if offset + size <= len(data) else None


def _with_records(path: Path, bare: Container, start: int, end: int) -> Container:
    """With the records between two offsets found, compressed ones included."""
    data, notes = bare.data, bare.notes
    samples, others, stopped = _records(data, start, end)
    damaged = end - stopped
    packed = b"".join(_compressed(data, others))
    if packed:
        plain, lost = _decompressed(path, packed)
        data = memoryview(bytes(data[:end]) + plain)
        more_samples, more_others, stopped = _records(data, end, len(data))
        damaged += lost + len(data) - stopped
        samples, others = np.concatenate([samples, more_samples]), np.concatenate([others, more_others])
    if damaged and not notes:
        notes = ("The file was cut short: its last record is incomplete.",)
    if bare.features.damaged:
        notes += (f"What perf wrote about {', '.join(bare.features.damaged)} is damaged and was passed over.",)
    return replace(bare, data=data, samples=samples, others=others, notes=notes, damaged_bytes=damaged)


def _records(data: memoryview, start: int, end: int) -> tuple[Offsets, Offsets, int]:
    samples, others, stopped = find_records(data, start, end)
    return np.frombuffer(samples, np.uint64), np.frombuffer(others, np.uint64), stopped


def _compressed(data: memoryview, others: Offsets) -> Iterator[bytes]:
    """The pieces of the one stream that perf record --compression-level writes."""
    for at in others.tolist():
        kind, _, size = RECORD_HEADER.unpack_from(data, at)
        body = data[at + RECORD_HEADER.size : at + size]
        if kind == RecordKind.COMPRESSED:
            yield bytes(body)
        elif kind == RecordKind.COMPRESSED2 and len(body) >= 8:
            yield bytes(body[8 : 8 + int.from_bytes(body[:8], "little")])


def _decompressed(path: Path, packed: bytes) -> tuple[bytes, int]:
    """What the stream holds, and how many bytes of it could not be read."""
    pieces: list[bytes] = []
    room = max(_DECOMPRESSED_ALWAYS, _DECOMPRESSED_TO_PACKED * len(packed))
    stream = pa.CompressedInputStream(pa.BufferReader(packed + _END_OF_STREAM), "zstd")
    try:
        while piece := stream.read(_DECOMPRESSED_AT_ONCE):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise WhyperfError(
                    f"{path} decompresses to more than {_DECOMPRESSED_TO_PACKED} times its size: perf wrote no such "
                    "file.",
                    _RECORD_AGAIN,
                )
    except (OSError, pa.ArrowException):
        return b"".join(pieces), len(packed)  # damaged somewhere; how much of it is lost is not known
    return b"".join(pieces), 0


def _from_pipe(path: Path, data: memoryview, changed: int) -> Container:
    """`perf record -o -`: events, names, build-ids and features come as records."""
    bare = _with_records(path, _bare(data, changed), layout.PIPE_HEADER_BYTES, len(data))
    events: list[Attributes] = []
    names: dict[int, str] = {}
    build_ids: dict[str, str] = {}
    sections: list[tuple[int, memoryview | None]] = []
    for at in bare.others.tolist():
        kind, misc, body = bare.record(at)
        with contextlib.suppress(struct.error, ValueError):
            if kind == RecordKind.HEADER_ATTR:
                events.append(_piped_event(body))
            elif kind == RecordKind.EVENT_UPDATE:
                update, identity = struct.unpack_from("<QQ", body)
                if update == _NAME_UPDATE:
                    names[identity] = bytes(body[16:]).split(b"\0", 1)[0].decode(errors="replace")
            elif kind == RecordKind.BUILD_ID:
                binary, build_id = parse_build_id(body, misc)
                build_ids[binary] = build_id
            elif kind == RecordKind.HEADER_FEATURE:
                sections.append((struct.unpack_from("<Q", body)[0], body[8:]))
            elif kind == RecordKind.TRACING_DATA:
                (size,) = struct.unpack_from("<I", body)
                first = at + RECORD_HEADER.size + len(body)
                sections.append((Feature.TRACING_DATA, bare.data[first : first + size]))
    features = parse_features(sections)
    features = replace(features, build_ids={**features.build_ids, **build_ids})
    said = {identity: one.name for one in features.events for identity in one.ids} | names
    named = tuple(replace(one, name=next((said[i] for i in one.ids if i in said), one.name)) for one in events)
    return replace(bare, events=named, features=features)


def _piped_event(body: memoryview) -> Attributes:
    (size,) = struct.unpack_from("<I", body, 4)
    if not 0 < size <= len(body):
        raise ValueError("an event's description is too short")
    return parse_attributes(body[:size], struct.unpack_from(f"<{(len(body) - size) // 8}Q", body, size))
