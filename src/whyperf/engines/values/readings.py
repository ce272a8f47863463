"""What a variable held in one run, reading by reading, and the three sequences that are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Ints, Run, ints
from whyperf.engines.values.kinds import Dimension, Kind, ordered, steps, usable
from whyperf.engines.values.timeline import Flags, Timeline, timeline
from whyperf.engines.values.variables import VariableIndex
from whyperf.recording.rows import HeldRows, Rows

ANY_LINE = 0


@runtime_checkable
class _Streaming(Protocol):
    def rows(self, name: str) -> Rows: ...


@dataclass(frozen=True)
class Readings:
    """Of one variable in one run, in time order."""

    raw: Ints
    sample: Ints
    depth: Ints
    frame: Ints
    line: Ints  # relative to the function's declaration

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True)
class Sequence:
    """One dimension of a variable in one run: numbers that sort as the values do, and where each was read."""

    codes: Ints
    line: Ints  # relative; ANY_LINE where a number belongs to more than one
    frame: Ints

    def __len__(self) -> int:
        return len(self.codes)


def has_values(run: Run) -> bool:
    listed = run.manifest.tables
    if listed:
        return "values" in listed and listed["values"].rows > 0
    return run.recording.table("values").num_rows > 0


class RunReadings:
    """The readings of one run by variable number."""

    def __init__(self, run: Run, functions: FunctionIndex, variables: VariableIndex) -> None:
        self.run = run
        self.timeline: Timeline = timeline(run)
        self._row = variables.rows[run]
        recording = run.recording
        self._rows: Rows = (
            recording.rows("values") if isinstance(recording, _Streaming) else HeldRows(recording.table("values"))
        )
        self._spans = self._rows.spans("variable")
        self._line = _relative_lines(run, functions)

    @property
    def total(self) -> int:
        return sum(stop - start for start, stop in self._spans.values())

    def count(self, number: int) -> int:
        start, stop = self._spans.get(self._row.get(number, -1), (0, 0))
        return stop - start

    def first_row(self, number: int) -> int:
        return self._spans.get(self._row.get(number, -1), (0, 0))[0]

    def of(self, number: int, kind: Kind) -> Readings:
        start, stop = self._spans.get(self._row.get(number, -1), (0, 0))
        if start == stop:
            empty = np.zeros(0, np.int64)
            return Readings(empty, empty, empty, empty, empty)
        columns = self._rows.read(start, stop)
        raw, sample, frame = columns["value"], columns["sample"], columns["frame"]
        good = (sample >= 0) & (frame >= 0) & self.timeline.counted[sample] & usable(kind, raw)
        if not good.all():
            raw, sample, frame = raw[good], sample[good], frame[good]
            depth = columns["depth"][good]
        else:
            depth = columns["depth"]
        return Readings(raw, sample, depth, frame, self._line[frame])


def sequence(readings: Readings, kind: Kind, dimension: Dimension, when: Timeline) -> Sequence:
    if dimension is Dimension.VALUE:
        return Sequence(ordered(kind, readings.raw), readings.line, readings.frame)
    chosen = _by_thread(readings, when)
    raw, sample, frame = readings.raw[chosen], readings.sample[chosen], readings.frame[chosen]
    threads = when.thread[sample]
    same_thread = threads[1:] == threads[:-1]
    if dimension is Dimension.DELTA:
        line = readings.line[chosen][1:][same_thread]
        return Sequence(steps(kind, raw, same_thread), line, frame[1:][same_thread])
    callers = when.height[sample] - readings.depth[chosen] - 1
    lengths = _durations(raw, sample, callers, same_thread, when)
    return Sequence(lengths, np.full(len(lengths), ANY_LINE, np.int64), frame[np.cumsum(lengths) - 1])


def _by_thread(readings: Readings, when: Timeline) -> Ints:
    """The innermost reading of each sample, sorted by thread and time: what one thread did in a row."""
    sample = readings.sample
    first = np.flatnonzero(np.diff(sample, prepend=-1))
    position = when.position[sample[first]]
    if np.all(position[1:] > position[:-1]):
        return first
    return first[np.argsort(position, kind="stable")]


def _durations(raw: Ints, sample: Ints, callers: Ints, same_thread: Flags, when: Timeline) -> Ints:
    """Samples for which a value stayed: broken by another value, another thread, or the end of the activation."""
    stays = same_thread & (raw[1:] == raw[:-1])
    at = np.flatnonzero(stays)
    if len(at):
        ended = when.fewest_shared(sample[at], sample[at + 1]) < callers[at + 1]
        stays[at[ended]] = False
    return run_lengths(stays) if len(raw) else np.zeros(0, np.int64)


def run_lengths(stays: Flags) -> Ints:
    """Lengths of the runs of readings, where `stays` tells for all but the first whether it continues its run."""
    starts = np.concatenate(([0], np.flatnonzero(~stays) + 1))
    return np.diff(np.concatenate((starts, [len(stays) + 1]))).astype(np.int64)


def _relative_lines(run: Run, functions: FunctionIndex) -> Ints:
    """For every frame its line counted from its function's declaration: the same in builds that moved the function."""
    declared = functions.declared_line[run]
    start = np.array([declared.get(number, 0) for number in functions.of_frame[run]], np.int64)
    lines = np.array(ints(run.frames, "line"), np.int64)
    return np.where(lines > 0, lines - start, ANY_LINE)
