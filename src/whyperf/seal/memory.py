"""Sampled allocations, each with its end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.recording.raw_log.ringrecords import MemoryEvent, RingRecordKind
from whyperf.recording.schemas.memory_tables import ALLOCATIONS, MemoryKind
from whyperf.seal.evidence import Int32, Int64, RawEvidence, RawMemory
from whyperf.seal.participants.processes import Participants
from whyperf.seal.tables import table_of

Booleans = npt.NDArray[np.bool_]

_ALIVE = -1
_PAGE_BYTES = 4096
_LARGEST = float(1 << 62)


def memory_tables(evidence: RawEvidence, participants: Participants) -> dict[str, pa.Table]:
    """None where memory was not recorded."""
    return {"allocations": _allocations(evidence, participants)} if len(evidence.memory) else {}


def _allocations(evidence: RawEvidence, participants: Participants) -> pa.Table:
    """In the order of their samples."""
    memory, process = evidence.memory, participants.sample_process
    time = _moments(memory, evidence.samples.time)
    begins = np.flatnonzero(_begins(memory))
    begins = begins[np.argsort(memory.sample[begins], kind="stable")]
    events = _ends(memory, time, process[memory.sample])
    end, freed, freed_by, touched = (found[begins] for found in events)
    process_end = _process_ends(evidence, participants)[process[memory.sample[begins]]]
    is_page = memory.event[begins] == MemoryEvent.FAULTED
    size = np.where(is_page, _PAGE_BYTES, np.minimum(memory.bytes[begins], 1 << 62)).astype(np.int64)
    return table_of(
        ALLOCATIONS,
        sample=memory.sample[begins],
        kind=np.where(is_page, MemoryKind.PAGE, MemoryKind.ALLOCATION).astype(np.int8),
        size=size,
        weight=_weights(size, memory.interval[begins].astype(np.float64), is_page),
        touched=np.where(is_page, size, np.minimum(touched, size)),
        end=np.where(freed, end, process_end),
        freed=freed,
        freed_by=freed_by,
    )


def _begins(memory: RawMemory) -> Booleans:
    found: Booleans = (memory.event == MemoryEvent.ALLOCATED) | (memory.event == MemoryEvent.FAULTED)
    return found


def _are_pages(memory: RawMemory) -> Booleans:
    """A block may have the address of its page. Only of pages it is said with an interval that they have gone."""
    gone = (memory.event == MemoryEvent.FREED_BEFORE) & (memory.interval > 0)
    found: Booleans = gone | (memory.event == MemoryEvent.FAULTED)
    return found


def _moments(memory: RawMemory, sample_time: Int64) -> Int64:
    """When each event was: one that is said later says when it was."""
    said = sample_time[memory.sample]
    before = memory.event == MemoryEvent.FREED_BEFORE
    return np.where(before & (memory.bytes < said.astype(np.uint64)), memory.bytes.astype(np.int64), said)


def _ends(memory: RawMemory, time: Int64, process: Int32) -> tuple[Int64, Booleans, Int32, Int64]:
    """Of every event that is an allocation: when it was freed, whether it was, by which sample, and how much of it was
    touched by then.

    What follows at the same address of the same process is its end: a free, or another allocation, before which there
    must have been a free that nobody recorded.
    """
    is_page = _are_pages(memory)
    order = np.lexsort((time, memory.address, is_page, process))
    here, following = order[:-1], order[1:]
    same = (memory.address[here] == memory.address[following]) & (process[here] == process[following])
    same &= (is_page[here] == is_page[following]) & _begins(memory)[here] & (memory.address[here] != 0)
    end = np.full(len(memory), _ALIVE, np.int64)
    freed = np.zeros(len(memory), bool)
    freed_by = np.full(len(memory), -1, np.int32)
    touched = np.full(len(memory), -1, np.int64)
    told = same & np.isin(memory.event[following], (MemoryEvent.FREED, MemoryEvent.TOUCHED))
    told &= memory.interval[following] > 0
    touched[here[told]] = np.minimum(memory.bytes[following[told]], 1 << 62).astype(np.int64)
    same &= memory.event[following] != MemoryEvent.TOUCHED
    end[here[same]], freed[here[same]] = time[following[same]], True
    seen = same & (memory.event[following] == MemoryEvent.FREED)
    freed_by[here[seen]] = memory.sample[following[seen]]
    return end, freed, freed_by, touched


def _weights(size: Int64, interval: npt.NDArray[np.float64], is_page: Booleans) -> Int64:
    """An allocation is sampled if any of its bytes is: the larger, the more likely."""
    likely = -np.expm1(-np.maximum(size, 1) / np.maximum(interval, 1.0))
    weight = np.where(is_page, size * np.maximum(interval, 1.0), size / likely)
    return np.minimum(np.rint(weight), _LARGEST).astype(np.int64)


def _process_ends(evidence: RawEvidence, participants: Participants) -> Int64:
    """When each process ended, by its main thread or by the program that took its place; -1: not seen."""
    ends = np.full(len(participants.processes) + 1, _ALIVE, np.int64)
    latest: dict[int, int] = {}
    for row, process in enumerate(participants.processes):
        before = latest.get(process.pid)
        if before is not None:
            ends[before] = process.start
        latest[process.pid] = row
    for note, row in zip(evidence.notes, participants.note_process, strict=True):
        owner = evidence.owners[note.owner]
        if note.kind == RingRecordKind.THREAD_END and owner.pid == owner.tid and ends[row] == _ALIVE:
            ends[row] = note.time
    return ends
