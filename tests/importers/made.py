"""perf.data files written by hand: every odd thing without a perf that would do it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from whyperf.importers.perf_data.layout import MAGIC, Feature, RecordKind, SampleType

USER, KERNEL = 2, 1
PLAIN = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.PERIOD


@dataclass(frozen=True)
class Event:
    """As `perf_event_attr` has it; the default is cpu-clock at 1000 Hz."""

    sample_type: int = PLAIN | SampleType.IDENTIFIER
    type: int = 1
    config: int = 0
    period: int = 1000
    by_frequency: bool = True
    identity: int = 7
    user_registers: int = 0
    branches: int = 0
    read_format: int = 0
    monotonic: bool = False
    name: str = "cpu-clock"

    def attributes(self) -> bytes:
        flags = 1 << 18 | self.by_frequency << 10 | self.monotonic << 25
        return struct.pack(
            "<IIQQQQQIIQQQQIiQIHH",
            *(self.type, 112, self.config, self.period, self.sample_type, self.read_format, flags, 0, 0, 0, 0),
            *(self.branches, self.user_registers, 0, 1 if self.monotonic else 0, 0, 0, 0, 0),
        )


def record(kind: int, body: bytes, misc: int = USER) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(value: str) -> bytes:
    raw = value.encode() + b"\0"
    return raw + bytes(-len(raw) % 8)


def trailer(event: Event, time: int, pid: int = 1, tid: int = 1, cpu: int = 0) -> bytes:
    """What ends every record but samples."""
    kind = event.sample_type
    parts = [struct.pack("<II", pid, tid)] if kind & SampleType.TID else []
    parts += [struct.pack("<Q", time)] if kind & SampleType.TIME else []
    parts += [struct.pack("<Q", event.identity)] * bool(kind & SampleType.ID)
    parts += [struct.pack("<II", cpu, 0)] if kind & SampleType.CPU else []
    parts += [struct.pack("<Q", event.identity)] * bool(kind & SampleType.IDENTIFIER)
    return b"".join(parts)


def plain_sample(
    event: Event, time: int, *, ip: int = 0x401000, pid: int = 1, tid: int = 1, cpu: int = 0, period: int = 1_000_000
) -> bytes:
    """For events whose samples have nothing but the plain fields, raw data aside."""
    body = struct.pack("<QQIIQ", event.identity, ip, pid, tid, time)
    return record(RecordKind.SAMPLE, body + struct.pack("<IIQ", cpu, 0, period))


def raw_sample(event: Event, time: int, raw: bytes, *, pid: int = 1, tid: int = 1, cpu: int = 0) -> bytes:
    body = struct.pack("<QQIIQ", event.identity, 0xFFFFFFFF81000000, pid, tid, time)
    raw += bytes(-(len(raw) + 4) % 8)
    return record(RecordKind.SAMPLE, body + struct.pack("<IIQI", cpu, 0, 1, len(raw)) + raw, KERNEL)


def comm(event: Event, time: int, pid: int, name: str, *, tid: int | None = None, by_exec: bool = False) -> bytes:
    body = struct.pack("<II", pid, pid if tid is None else tid) + text(name)
    return record(RecordKind.COMM, body + trailer(event, time, pid, pid), USER | by_exec << 13)


def mmap2(event: Event, time: int, pid: int, path: str, start: int, size: int, offset: int = 0) -> bytes:
    body = struct.pack("<IIQQQ24sII", pid, pid, start, size, offset, bytes(24), 5, 2) + text(path)
    return record(RecordKind.MMAP2, body + trailer(event, time, pid, pid))


def fork(event: Event, time: int, pid: int, tid: int, parent_pid: int, parent_tid: int) -> bytes:
    body = struct.pack("<IIIIQ", pid, parent_pid, tid, parent_tid, time)
    return record(RecordKind.FORK, body + trailer(event, time, pid, tid))


def _string(value: str) -> bytes:
    raw = text(value)
    return struct.pack("<I", len(raw)) + raw


def tracing_data(formats: dict[str, str]) -> bytes:
    """`system:name` -> the text of its format file."""
    block = lambda raw: struct.pack("<Q", len(raw)) + raw  # noqa: E731
    data = b"\x17\x08\x44tracing0.6\0" + struct.pack("<BBI", 0, 8, 4096)
    data += b"header_page\0" + block(b"") + b"header_event\0" + block(b"") + struct.pack("<I", 0)
    data += struct.pack("<I", len(formats))
    for name, description in formats.items():
        data += name.partition(":")[0].encode() + b"\0" + struct.pack("<I", 1) + block(description.encode())
    return data


def format_file(name: str, number: int, fields: Sequence[tuple[str, int, int, int]]) -> str:
    """Fields as (declaration, offset, size, signed)."""
    lines = [f"\tfield:{text};\toffset:{at};\tsize:{size};\tsigned:{signed};" for text, at, size, signed in fields]
    return f"name: {name}\nID: {number}\nformat:\n" + "\n".join(lines) + '\n\nprint fmt: ""\n'


@dataclass(frozen=True)
class PerfFile:
    events: Sequence[Event]
    records: Sequence[bytes]
    features: dict[int, bytes] = field(default_factory=dict)
    machine: str = "x86_64"

    def _sections(self) -> dict[int, bytes]:
        names = b"".join(
            event.attributes() + struct.pack("<I", 1) + _string(event.name) + struct.pack("<Q", event.identity)
            for event in self.events
        )
        return {
            Feature.HOSTNAME: _string("made"),
            Feature.ARCH: _string(self.machine),
            Feature.COMMAND: struct.pack("<I", 3) + _string("perf") + _string("record") + _string("./program"),
            Feature.EVENT_DESCRIPTIONS: struct.pack("<II", len(self.events), 112) + names,
            **self.features,
        }

    def to_bytes(self) -> bytes:
        ids_at = 104
        ids = b"".join(struct.pack("<Q", event.identity) for event in self.events)
        attributes_at = ids_at + len(ids)
        attributes = b"".join(
            event.attributes() + struct.pack("<QQ", ids_at + 8 * number, 8) for number, event in enumerate(self.events)
        )
        data_at = attributes_at + len(attributes)
        data = b"".join(self.records)
        sections = dict(sorted(self._sections().items()))
        table_at = data_at + len(data)
        at = table_at + 16 * len(sections)
        table, contents = b"", b""
        for content in sections.values():
            table += struct.pack("<QQ", at + len(contents), len(content))
            contents += content
        bits = sum(1 << number for number in sections)
        header = struct.pack("<8sQQ", MAGIC, 104, 128)
        header += struct.pack("<6Q", attributes_at, len(attributes), data_at, len(data), 0, 0)
        header += struct.pack("<4Q", bits, 0, 0, 0)
        return header + ids + attributes + data + table + contents

    def to_pipe(self) -> bytes:
        """As `perf record -o -` writes it."""
        records = [
            record(RecordKind.HEADER_ATTR, event.attributes() + struct.pack("<Q", event.identity), 0)
            for event in self.events
        ]
        records += [
            record(RecordKind.HEADER_FEATURE, struct.pack("<Q", number) + content, 0)
            for number, content in self._sections().items()
            if number != Feature.TRACING_DATA
        ]
        tracing = self.features.get(Feature.TRACING_DATA, b"")
        if tracing:
            head = record(RecordKind.TRACING_DATA, struct.pack("<I", len(tracing)), 0)
            records.append(head + tracing + bytes(-len(tracing) % 8))
        return struct.pack("<8sQ", MAGIC, 16) + b"".join(records) + b"".join(self.records)
