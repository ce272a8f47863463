"""What of one run's memory was there at its peak, and what was never freed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.engines.recording_protocol import Recorded
from whyperf.recording.memory_tables import MemoryKind

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Curve:
    """Bytes in use after each change."""

    time: Ints
    bytes: Floats


@dataclass(frozen=True, eq=False)
class Holdings:
    """The sampled allocations of a run, a row each."""

    stack: Ints  # where it was allocated, a row of the run's stacks; -1: unknown
    begin: Ints
    end: Ints  # when it was freed, or its process ended
    freed: Booleans  # while its process ran
    freed_stack: Ints  # where; -1: unknown, or never
    size: Floats  # bytes that were asked for
    weight: Floats  # bytes that it stands for
    sample: Ints  # row of `samples`
    window: tuple[int, int]

    def __len__(self) -> int:
        return len(self.stack)

    @cached_property
    def curve(self) -> Curve:
        time = np.concatenate((self.begin, self.end))
        change = np.concatenate((self.weight, -self.weight))
        seen = time < _NEVER
        time, change = time[seen], change[seen]
        order = np.lexsort((change, time))
        return Curve(time[order], np.maximum(np.cumsum(change[order]), 0.0))

    @cached_property
    def peak_time(self) -> int:
        """Within the window."""
        first, last = self.window
        curve = self.curve
        inside = np.flatnonzero((curve.time >= first) & (curve.time <= last))
        if not len(inside):
            return last
        return int(curve.time[inside[np.argmax(curve.bytes[inside])]])

    @cached_property
    def at_peak(self) -> Booleans:
        return self._at(self.peak_time)

    @cached_property
    def peak_bytes(self) -> float:
        return float(self.weight[self.at_peak].sum())

    @cached_property
    def before_bytes(self) -> float:
        """What was in use when the window began."""
        return float(self.weight[self._at(self.window[0])].sum())

    @cached_property
    def kept(self) -> Booleans:
        """Never freed: there when the process, or the recording, ended."""
        return ~self.freed

    @cached_property
    def kept_bytes(self) -> float:
        return float(self.weight[self.kept].sum())

    @cached_property
    def in_window(self) -> Booleans:
        """Allocated while it was compared."""
        inside: Booleans = (self.begin >= self.window[0]) & (self.begin <= self.window[1])
        return inside

    def _at(self, time: int) -> Booleans:
        there: Booleans = (self.begin <= time) & (self.end > time)
        return there


def holds_memory(recording: Recorded) -> bool:
    """Whether it was made with --memory."""
    return recording.manifest.sampling.memory_interval > 0


def holdings_of(recording: Recorded, kind: MemoryKind = MemoryKind.ALLOCATION) -> Holdings:
    table, samples = recording.table("allocations"), recording.table("samples")
    rows = {name: table.column(name).to_numpy() for name in table.column_names}
    chosen = rows["kind"] == kind
    rows = {name: values[chosen] for name, values in rows.items()}
    stack, time = (samples.column(name).to_numpy().astype(np.int64) for name in ("stack", "time"))
    sample, freed_by = rows["sample"].astype(np.int64), rows["freed_by"].astype(np.int64)
    window = recording.manifest.window
    return Holdings(
        stack=stack[sample],
        begin=time[sample],
        end=np.where(rows["end"] < 0, _NEVER, rows["end"]),
        freed=rows["freed"].astype(bool),
        freed_stack=np.append(stack, -1)[freed_by],
        size=np.maximum(rows["size"].astype(np.float64), 1.0),
        weight=rows["weight"].astype(np.float64),
        sample=sample,
        window=(window.start, window.end),
    )
