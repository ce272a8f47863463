"""What of one run's memory was there at its peak, and what was never freed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.engines.recording_protocol import Recorded
from whyperf.recording.schemas.memory_tables import MemoryKind

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
    touched: Floats  # part of it that was ever touched, by its pages; 1 where nobody knows
    sample: Ints  # row of `samples`
    window: tuple[int, int]
    interval: int  # bytes from one sampled allocation to the next, on average

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
    def unsure(self) -> Floats:
        """The chance that an allocation of this size is not sampled: large ones always are."""
        chance: Floats = np.exp(-self.size / max(self.interval, 1))
        return chance

    @cached_property
    def squares(self) -> Floats:
        """What each adds to the variance of a sum: another run of the same behaviour has other allocations sampled."""
        added: Floats = self.weight**2 * self.unsure
        return added

    @cached_property
    def peak_variance(self) -> float:
        """Of the bytes at the peak."""
        return float(self.squares[self.at_peak].sum())

    @cached_property
    def least_peak_bytes(self) -> float:
        """Without what chance adds to the highest of many moments.

        The samples in use vary from moment to moment. Of K independent amounts with the deviation s the largest is
        beyond the mean by s * sqrt(2 ln K) at most, on average; K is how often all that is in use was replaced.
        """
        replaced = float(self.weight[self.in_window].sum()) / max(self.peak_bytes, 1.0)
        beyond = np.sqrt(2 * np.log(max(replaced, 1.0)) * self.peak_variance)
        return max(0.0, self.peak_bytes - float(beyond))

    @cached_property
    def lived_part(self) -> Floats:
        """Of the window, for how much of it each was there."""
        first, last = self.window
        lived: Floats = np.maximum(np.minimum(self.end, last) - np.maximum(self.begin, first), 0) / max(last - first, 1)
        return lived

    @cached_property
    def mean_bytes(self) -> float:
        """In use on average: a peak says little where few samples come and go."""
        return float((self.weight * self.lived_part).sum())

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
    stack, time = (samples.column(name).to_numpy().astype(np.int64) for name in ("stack", "time"))
    chosen = rows["kind"] == kind
    if kind is MemoryKind.ALLOCATION:
        chosen &= ~_within_allocators(recording)[stack[rows["sample"]]]
    rows = {name: values[chosen] for name, values in rows.items()}
    sample, freed_by = rows["sample"].astype(np.int64), rows["freed_by"].astype(np.int64)
    window = recording.manifest.window
    size = np.maximum(rows["size"].astype(np.float64), 1.0)
    return Holdings(
        stack=stack[sample],
        begin=time[sample],
        end=np.where(rows["end"] < 0, _NEVER, rows["end"]),
        freed=rows["freed"].astype(bool),
        freed_stack=np.append(stack, -1)[freed_by],
        size=size,
        touched=np.where(rows["touched"] < 0, 1.0, rows["touched"] / size),
        weight=rows["weight"].astype(np.float64),
        sample=sample,
        window=(window.start, window.end),
        interval=recording.manifest.sampling.memory_interval,
    )


def _within_allocators(recording: Recorded) -> npt.NDArray[np.bool_]:
    """Of each stack, and of none at all as the last, whether it passes through an allocator that is sampled itself: to
    count what that one takes, too, would count twice."""
    stacks, frames, functions = (recording.table(name) for name in ("stacks", "frames", "functions"))
    parent = np.append(stacks.column("parent").to_numpy().astype(np.int64), -1)
    names = recording.manifest.sampling.allocators
    if not names or recording.manifest.losses.modules_not_patched:
        return np.zeros(len(parent), bool)
    is_named = np.append(np.isin(np.array(functions.column("name").to_pylist(), object), names), False)
    of_frame = np.append(is_named[frames.column("function").to_numpy()], False)
    within: npt.NDArray[np.bool_] = of_frame[np.append(stacks.column("frame").to_numpy(), -1)]
    while (parent >= 0).any():
        within, parent = within | within[parent], parent[parent]
    return within
