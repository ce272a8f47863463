"""From the raw log's chunks to what was traced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.facts import Fact, FollowedProcess, KernelCode, from_json
from whyperf.collect.tracer.traced import (
    RECORD,
    KernelSymbol,
    Records,
    Traced,
    TracedMappings,
    TracedProcess,
    TracedStacks,
    TracedThread,
)
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import TraceSummary

T = TypeVar("T")

_LAST_KIND = max(EventKind)
_NEVER = np.uint64(1 << 62)
_NO_PID = np.uint32(1 << 31)
_NO_THREAD = np.uint64(1 << 63 | 1 << 31)
_DEPTH_SHIFT, _FLAGS_SHIFT = np.uint64(32), np.uint64(48)


class TracedReading:
    """Takes chunks in the order of the log."""

    def __init__(self) -> None:
        self._events: list[Records] = []  # each of one CPU and in time order
        self._stacks = _StackReading()
        self._facts: list[Fact] = []
        self._damaged_bytes = 0

    def add_events(self, payload: memoryview) -> None:
        whole = len(payload) // RECORD.itemsize
        self._damaged_bytes += len(payload) - whole * RECORD.itemsize
        records = np.frombuffer(payload, RECORD, whole)
        if whole:
            self._events.append(records)

    def add_stacks(self, payload: memoryview) -> None:
        self._stacks.add(payload)

    def add_json(self, said: dict[str, Any]) -> bool:
        """Whether the object is about what was traced."""
        fact = from_json(said)
        if fact is not None:
            self._facts.append(fact)
        return fact is not None

    def result(self) -> Traced | None:
        """None where nothing was traced. To be asked once: what was read is let go."""
        traces = self._of(TraceSummary)
        if not traces and not self._events:
            return None
        trace = traces[-1] if traces else TraceSummary("bpf", "all", 0.0)
        records, nonsense = _in_time_order(self._events)
        symbols: dict[int, KernelSymbol] = {}
        kernel = self._of(KernelCode)
        for code in kernel:
            try:
                symbols.update(code.symbols())
            except ValueError:
                continue
        return Traced(
            records=records,
            stacks=self._stacks.result(),
            trace=trace,
            processes=tuple(self._of(TracedProcess)),
            threads=tuple(self._of(TracedThread)),
            mappings=tuple(self._of(TracedMappings)),
            kernel_symbols=symbols,
            followed=tuple(root.pid for root in self._of(FollowedProcess)),
            kernel_base=kernel[-1].base if kernel else 0,
            kernel_build_id=kernel[-1].build_id if kernel else "",
            damaged_bytes=self._damaged_bytes + self._stacks.damaged_bytes + nonsense * RECORD.itemsize,
        )

    def _of(self, kind: type[T]) -> list[T]:
        return [fact for fact in self._facts if isinstance(fact, kind)]


def ordered(traced: Traced) -> Traced:
    """With its records in the order of their times, and without those that make no sense."""
    records, nonsense = _in_time_order([traced.records])
    return replace(traced, records=records, damaged_bytes=traced.damaged_bytes + nonsense * RECORD.itemsize)


def _in_time_order(parts: list[Records]) -> tuple[Records, int]:
    """All of them but those that make no sense, and how many those are.

    Parts are emptied from the log's beginning on, which is time's too: at no moment is everything held twice.
    """
    if not parts:
        return np.zeros(0, RECORD), 0
    by_cpu = sorted(range(len(parts)), key=lambda at: int(parts[at]["cpu"][0]) if len(parts[at]) else 0)
    begin = np.zeros(len(parts), np.int64)
    begin[by_cpu] = np.cumsum([0, *(len(parts[at]) for at in by_cpu)])[:-1]
    time = np.concatenate([parts[at]["time"] for at in by_cpu])
    sound = np.concatenate([_make_sense(parts[at]) for at in by_cpu])
    place = np.full(len(time), -1, np.int64)
    # CPUs one after the other are a few rising runs, which a merge sort puts together in one pass.
    kept = np.flatnonzero(sound)
    place[kept[np.argsort(time[kept].astype(np.int64), kind="stable")]] = np.arange(len(kept))
    ordered = np.empty((len(kept), RECORD.itemsize // 8), np.uint64)
    nonsense = len(sound) - len(kept)
    begins = begin.tolist()
    parts.reverse()
    for at in begins:
        part = parts.pop()
        rows = part.view(np.uint8).reshape(-1, RECORD.itemsize).view(np.uint64)
        to = place[at : at + len(part)]
        if nonsense:
            rows, to = rows[to >= 0], to[to >= 0]
        ordered[to] = rows
    return ordered.view(RECORD).ravel(), nonsense


def _make_sense(records: Records) -> npt.NDArray[np.bool_]:
    kind, time = records["kind"], records["time"]
    is_event = (kind >= 1) & (kind <= _LAST_KIND) & (time > 0) & (time < _NEVER)
    is_thread = ((records["pid"] | records["tid"]) & _NO_PID == 0) & (records["other"] & _NO_THREAD == 0)
    return np.asarray(is_event & is_thread)


class _StackReading:
    def __init__(self) -> None:
        self.damaged_bytes = 0
        self._words: list[np.ndarray] = []
        self._heads: list[int] = []  # where they are among the words of all payloads
        self._total = 0

    def add(self, payload: memoryview) -> None:
        words = np.frombuffer(payload, np.uint64, len(payload) // 8)
        depths = ((words >> _DEPTH_SHIFT) & np.uint64(0xFFFF)).astype(np.int64).tolist()
        at = 0
        while at < len(words) and at + 1 + depths[at] <= len(words):
            self._heads.append(self._total + at)
            at += 1 + depths[at]
        self.damaged_bytes += len(payload) - at * 8
        self._words.append(words[:at])
        self._total += at

    def result(self) -> TracedStacks:
        words = np.concatenate(self._words) if self._words else np.zeros(0, np.uint64)
        heads = np.array(self._heads, np.int64)
        head = words[heads]
        depth = ((head >> _DEPTH_SHIFT) & np.uint64(0xFFFF)).astype(np.int64)
        is_address = np.ones(len(words), bool)
        is_address[heads] = False
        return TracedStacks(
            number=head.astype(np.uint32),
            ends=np.cumsum(depth),
            pcs=words[is_address],
            flags=(head >> _FLAGS_SHIFT).astype(np.uint16),
        )
