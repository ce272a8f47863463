"""Everything that an open recording holds, decoded but not yet understood."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.collect import _session
from whyperf.collect.setup.start import Start
from whyperf.collect.tracer.facts import FACTS
from whyperf.collect.tracer.reading import TracedReading, ordered
from whyperf.collect.tracer.traced import Traced
from whyperf.recording.layout import START
from whyperf.recording.raw_log.chunks import Chunk, ChunkKind, ChunkReader
from whyperf.recording.raw_log.ringrecords import MODULE, OWNER, PROCESS, THREAD_END, RingRecordKind
from whyperf.recording.safe_files.dataclass_json import MisfitError, from_plain
from whyperf.recording.safe_files.limits import MOST_JSON_BYTES
from whyperf.recording.safe_files.regular_files import opened_by_name, read_regular

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

NEVER = 1 << 62
_PROCESSES = 1 << 31  # more than any kernel can number
_LEAST_BYTES: dict[int, int] = {
    RingRecordKind.PROCESS: PROCESS.size,
    RingRecordKind.MODULE: MODULE.size,
    RingRecordKind.THREAD_END: THREAD_END.size,
}


@dataclass(frozen=True)
class Owner:
    """A thread as its slot names it. Sequence 0: seen from outside, without a slot."""

    pid: int
    tid: int
    sequence: int
    start: int


@dataclass(frozen=True)
class Note:
    """A ring record that is neither a stack nor a sample."""

    owner: int
    kind: int
    detail: int
    time: int
    payload: bytes


@dataclass(frozen=True)
class RawSamples:
    """A row each, in time order. `weight` counts periods for CPU samples, nanoseconds for blocked ones."""

    time: Int64
    owner: Int32
    stack: Int32  # row of `RawStacks`; -1: lost
    weight: Int64
    cut: npt.NDArray[np.uint8]
    clock: npt.NDArray[np.int8]
    wait: npt.NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, chosen: Int64) -> RawSamples:
        return RawSamples(*(getattr(self, name)[chosen] for name in RawSamples.__dataclass_fields__))


@dataclass(frozen=True)
class RawStacks:
    """Distinct lists of addresses, innermost first; stack i is `pcs[ends[i - 1]:ends[i]]`."""

    pcs: UInt64
    ends: Int64

    @property
    def starts(self) -> Int64:
        return np.concatenate((np.zeros(1, np.int64), self.ends[:-1])) if len(self.ends) else self.ends


@dataclass(frozen=True)
class RawValues:
    """What variables held, packed (native/values/gather.h): entry i is `packed[ends[i - 1]:ends[i]]`."""

    sample: Int32  # row of `RawSamples`; -1: none
    ends: Int64
    packed: bytes


@dataclass(frozen=True)
class RawMemory:
    """What happened to memory, a row each."""

    sample: Int32  # row of `RawSamples`: when and where
    address: UInt64
    bytes: UInt64
    interval: UInt64
    event: UInt64  # `MemoryEvent`

    def __len__(self) -> int:
        return len(self.sample)


@dataclass(frozen=True)
class RawEvidence:
    start: Start
    owners: tuple[Owner, ...]
    samples: RawSamples
    stacks: RawStacks
    values: RawValues
    memory: RawMemory
    notes: tuple[Note, ...]  # in time order, without repetitions
    said: tuple[dict[str, Any], ...]  # JSON chunks, without repetitions
    counters: Mapping[str, Any]  # as `Drainer.counters` gives them; empty when nothing is known
    library: str  # the preloaded one
    tables: str  # folder of the tables it used
    damaged_bytes: int
    stacks_missing: int
    traced: Traced | None = None

    def last_said(self, kind: str) -> dict[str, Any]:
        return next((value for value in reversed(self.said) if value.get("type") == kind), {})


def read_evidence(raw: Path) -> RawEvidence:
    """Changes nothing in the folder. ValueError when start.json is not there or makes no sense."""
    start = _read_start(raw)
    reading = _Reading()
    reader = ChunkReader()
    with contextlib.suppress(FileNotFoundError):
        for chunk in reader.in_file(raw / FACTS):
            reading.add(chunk)
    for chunk in reader.in_folder(raw):
        reading.add(chunk)
    counters: Mapping[str, Any] = {}
    library = tables = ""
    # A missing or damaged rings file costs what had not been drained, nothing else.
    with contextlib.suppress(OSError, ValueError):
        with opened_by_name(raw / "rings") as name:
            rings = _session.Drainer(name, copy=True)
        library, tables = rings.library, rings.tables
        for chunk in _leftovers(rings, reader):
            reading.add(chunk)
        counters = rings.counters()
    samples, stacks, values, memory = reading.columns()
    traced = reading.traced.result()
    return RawEvidence(
        start=start,
        owners=tuple(Owner(*OWNER.unpack(head)) for head in reading.owners),
        samples=samples,
        stacks=stacks,
        values=values,
        memory=memory,
        notes=tuple(sorted(dict.fromkeys(reading.notes), key=lambda note: note.time)),
        said=tuple(reading.said),
        counters=counters or _counters_said(reading.said),
        library=library,
        tables=tables,
        damaged_bytes=reader.damaged_bytes + reading.decoder.damaged_bytes + reading.damaged_bytes,
        stacks_missing=reading.decoder.stacks_missing,
        traced=traced,
    )


def without_samples(start: Start, traced: Traced, said: Iterable[dict[str, Any]] = ()) -> RawEvidence:
    """What was traced by others, with nothing from the sampler. `said`: as the raw log's JSON chunks say it."""
    samples, stacks, values, memory = _Reading().columns()
    return RawEvidence(
        start=start,
        owners=(),
        samples=samples,
        stacks=stacks,
        values=values,
        memory=memory,
        notes=(),
        said=tuple(said),
        counters={},
        library="",
        tables="",
        damaged_bytes=0,
        stacks_missing=0,
        traced=ordered(traced),
    )


def _read_start(raw: Path) -> Start:
    try:
        return from_plain(Start, json.loads(read_regular(raw / START, MOST_JSON_BYTES)))
    except (OSError, MisfitError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _leftovers(rings: _session.Drainer, reader: ChunkReader) -> Iterator[Chunk]:
    """What a killed recorder had not drained yet, as one more log file that exists in memory only."""
    memory = os.memfd_create("leftovers", os.MFD_CLOEXEC)
    try:
        rings.drain(memory)
        os.lseek(memory, 0, os.SEEK_SET)
        with open(memory, "rb", closefd=False) as file:
            yield from reader.in_bytes(file.read(), number=-1)
    finally:
        os.close(memory)


def _counters_said(said: list[dict[str, Any]]) -> dict[str, Any]:
    return next((v["counters"] for v in reversed(said) if isinstance(v.get("counters"), dict)), {})


class _Reading:
    """Takes chunks in the order of the log."""

    def __init__(self) -> None:
        self.decoder = _session.Decoder()
        self.owners: dict[bytes, int] = {}
        self.notes: list[Note] = []
        self.said: list[dict[str, Any]] = []
        self.damaged_bytes = 0
        self.traced = TracedReading()
        self._file: int | None = None
        self._heard: set[bytes] = set()

    def add(self, chunk: Chunk) -> None:
        if chunk.kind == ChunkKind.JSON:
            self._add_json(chunk)
        elif chunk.kind in (ChunkKind.RING, ChunkKind.BLOCKED) and len(chunk.payload) >= OWNER.size:
            self._add_records(chunk)
        elif chunk.kind == ChunkKind.EVENTS:
            self.traced.add_events(chunk.payload)
        elif chunk.kind == ChunkKind.TRACED_STACKS:
            self.traced.add_stacks(chunk.payload)
        else:
            self.damaged_bytes += len(chunk.payload)

    def _add_json(self, chunk: Chunk) -> None:
        text = bytes(chunk.payload)
        if text not in self._heard:
            self._heard.add(text)
            said = chunk.json()
            if not self.traced.add_json(said):
                self.said.append(said)

    def _add_records(self, chunk: Chunk) -> None:
        if chunk.file != self._file:
            self._file = chunk.file
            self.decoder.new_file()
        head = bytes(chunk.payload[: OWNER.size])
        if not _is_possible(Owner(*OWNER.unpack(head))):
            self.damaged_bytes += len(chunk.payload)
            return
        owner = self.owners.setdefault(head, len(self.owners))
        for kind, detail, time, payload in self.decoder.add(owner, chunk.payload[OWNER.size :]):
            if time < NEVER and len(payload) >= _LEAST_BYTES.get(kind, 0):
                self.notes.append(Note(owner, kind, detail, time, payload))
            else:
                self.damaged_bytes += len(payload)

    def columns(self) -> tuple[RawSamples, RawStacks, RawValues, RawMemory]:
        columns = self.decoder.columns()
        samples = RawSamples(
            time=np.frombuffer(columns["time"], np.int64),
            owner=np.frombuffer(columns["owner"], np.int32),
            stack=np.frombuffer(columns["stack"], np.int32),
            weight=np.frombuffer(columns["weight"], np.int64),
            cut=np.frombuffer(columns["cut"], np.uint8),
            clock=np.frombuffer(columns["clock"], np.int8),
            wait=np.frombuffer(columns["wait"], np.int16),
        )
        stacks = RawStacks(np.frombuffer(columns["pcs"], np.uint64), np.frombuffer(columns["stack_ends"], np.int64))
        kept = _in_time_order(samples)
        row = np.full(len(samples), -1, np.int32)
        row[kept] = np.arange(len(kept))
        values = RawValues(
            sample=row[np.frombuffer(columns["values_sample"], np.int32)],
            ends=np.frombuffer(columns["values_ends"], np.int64),
            packed=columns["values"],
        )
        of_memory = row[np.frombuffer(columns["memory_sample"], np.int32)]
        known = np.flatnonzero(of_memory >= 0)
        fields = np.frombuffer(columns["memory"], np.uint64).reshape(-1, 4)[known]
        memory = RawMemory(of_memory[known], *(np.ascontiguousarray(field) for field in fields.T))
        return samples.rows(kept), stacks, values, memory


def _is_possible(owner: Owner) -> bool:
    return owner.pid < _PROCESSES and owner.tid < _PROCESSES and owner.start < NEVER


def _in_time_order(samples: RawSamples) -> Int64:
    """The rows to keep."""
    order = np.argsort(samples.time, kind="stable")
    time, owner, clock = samples.time[order], samples.owner[order], samples.clock[order]
    # A recorder killed between writing and saying so leaves the same samples in the log and in the rings.
    repeated = np.zeros(len(order), bool)
    repeated[1:] = (time[1:] == time[:-1]) & (owner[1:] == owner[:-1]) & (clock[1:] == clock[:-1])
    # A damaged record can hold any time; one before the machine was started is not a moment, nor is one in 100 years.
    return order[~repeated & (time > 0) & (time < NEVER) & (samples.weight[order] >= 0)]
