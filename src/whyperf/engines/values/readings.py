"""What a variable held in the runs of one kind, reading by reading, and the three sequences that are compared."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Ints, Run, ints
from whyperf.engines.values.kinds import Dimension, Flags, Kind, ordered, steps, usable
from whyperf.engines.values.timeline import Timeline, timeline
from whyperf.engines.values.variables import VariableIndex
from whyperf.recording.rows import Columns, HeldRows, Rows

ANY_LINE = 0
NO_CALLEE = -1


@runtime_checkable
class _Streaming(Protocol):
    def rows(self, name: str) -> Rows: ...


@dataclass(frozen=True)
class Readings:
    """Of one variable: run after run, each in time order. Samples and frames are numbered through all runs."""

    raw: Ints
    sample: Ints
    depth: Ints
    frame: Ints
    line: Ints  # relative to the function's declaration
    callee: Ints  # function that the variable's function was waiting for, NO_CALLEE where it ran itself
    starts: Ints  # where each run begins, and the end

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True)
class Sequence:
    """One dimension of a variable: numbers that sort as the values do, and where each was read."""

    codes: Ints
    line: Ints  # relative; ANY_LINE where a number belongs to more than one
    callee: Ints
    frame: Ints
    starts: Ints

    def __len__(self) -> int:
        return len(self.codes)


def has_values(run: Run) -> bool:
    listed = run.manifest.tables
    if listed:
        return "values" in listed and listed["values"].rows > 0
    return run.recording.table("values").num_rows > 0


class SideReadings:
    """The readings of all runs of one kind, by variable number."""

    def __init__(self, runs: Several[Run], functions: FunctionIndex, variables: VariableIndex) -> None:
        self.runs = tuple(runs)
        self.timeline: Timeline = timeline(runs)
        self._variable_rows = [variables.rows[run] for run in runs]
        self._rows = [_rows(run) for run in runs]
        self._spans = [rows.spans("variable") for rows in self._rows]
        lines = [_relative_lines(run, functions) for run in runs]
        self._line = np.concatenate(lines)
        self._callees = [_Callees(run, functions) for run in runs]
        self.frame_start = np.concatenate(([0], np.cumsum([len(one) for one in lines])))

    @property
    def total(self) -> int:
        return sum(stop - start for spans in self._spans for start, stop in spans.values())

    def count(self, number: int) -> int:
        return sum(stop - start for start, stop in self._of_runs(number))

    def first_row(self, number: int) -> int:
        return max(start for start, _ in self._of_runs(number))

    def of(self, number: int, kind: Kind) -> Readings:
        pieces: list[Columns] = []
        starts = [0]
        for run, (rows, (start, stop)) in enumerate(zip(self._rows, self._of_runs(number), strict=True)):
            if start < stop:
                columns = rows.read(start, stop)
                kept = self._kept(columns, kind, run)
                pieces.append(
                    {
                        "value": columns["value"][kept],
                        "depth": columns["depth"][kept],
                        "sample": columns["sample"][kept] + np.int64(self.timeline.start[run]),
                        "frame": columns["frame"][kept] + np.int64(self.frame_start[run]),
                        "callee": self._callees[run].of(columns["sample"][kept], columns["depth"][kept]),
                    }
                )
            starts.append(sum(len(piece["value"]) for piece in pieces))
        empty = np.zeros(0, np.int64)
        raw, sample, depth, frame, callee = (
            (pieces[0][name] if len(pieces) == 1 else np.concatenate([empty, *(piece[name] for piece in pieces)]))
            for name in ("value", "sample", "depth", "frame", "callee")
        )
        return Readings(raw, sample, depth, frame, self._line[frame], callee, np.array(starts))

    def _kept(self, columns: Columns, kind: Kind, run: int) -> Flags | slice:
        """Which rows are readings: of a sample that counts, at a known place, and not not-a-number."""
        sample, frame = columns["sample"], columns["frame"]
        begin = self.timeline.start[run]
        kept = self.timeline.counted[begin + np.maximum(sample, 0)] & (sample >= 0) & (frame >= 0)
        if kind.is_double:
            kept &= usable(kind, columns["value"])
        return slice(None) if kept.all() else kept

    def _of_runs(self, number: int) -> list[tuple[int, int]]:
        return [
            spans.get(rows.get(number, -1), (0, 0))
            for spans, rows in zip(self._spans, self._variable_rows, strict=True)
        ]


class _Callees:
    """Which function each frame of a run's samples was waiting for."""

    def __init__(self, run: Run, functions: FunctionIndex) -> None:
        self._stack = np.array(ints(run.recording.table("samples"), "stack"), np.int64)
        self._parent = np.array([*run.stack_parent, -1], np.int64)  # the last is the parent of none
        numbers = functions.of_frame[run]
        called = [numbers[run.frame_chain[frame][0]] for frame in run.stack_frame]
        self._function = np.array([*called, NO_CALLEE], np.int64)

    def of(self, sample: Ints, depth: Ints) -> Ints:
        callee = np.full(len(sample), NO_CALLEE, np.int64)
        above = depth > 0
        if above.any():
            node, left = self._stack[sample[above]], depth[above].astype(np.int64) - 1
            while (climbing := left > 0).any():
                node = np.where(climbing, self._parent[node], node)
                left -= climbing
            callee[above] = self._function[node]
        return callee


def sequences(
    readings: Readings, kind: Kind, dimensions: Several[Dimension], when: Timeline
) -> dict[Dimension, Sequence]:
    found: dict[Dimension, Sequence] = {}
    if Dimension.VALUE in dimensions:
        codes = ordered(kind, readings.raw)
        found[Dimension.VALUE] = Sequence(codes, readings.line, readings.callee, readings.frame, readings.starts)
    if Dimension.DELTA not in dimensions and Dimension.DURATION not in dimensions:
        return found
    chosen = _by_thread(readings, when)
    raw, sample, frame = readings.raw[chosen], readings.sample[chosen], readings.frame[chosen]
    threads = when.thread[sample]
    same_thread = threads[1:] == threads[:-1]
    if Dimension.DELTA in dimensions:
        after = np.flatnonzero(same_thread) + 1
        starts = _starts(sample[after], when)
        where = chosen[after]
        found[Dimension.DELTA] = Sequence(
            steps(kind, raw, same_thread), readings.line[where], readings.callee[where], frame[after], starts
        )
    if Dimension.DURATION in dimensions:
        callers = when.height[sample] - readings.depth[chosen] - 1
        lengths = _durations(raw, sample, callers, same_thread, when)
        last = np.cumsum(lengths) - 1
        line, callee = np.full(len(lengths), ANY_LINE, np.int64), np.full(len(lengths), NO_CALLEE, np.int64)
        found[Dimension.DURATION] = Sequence(lengths, line, callee, frame[last], _starts(sample[last], when))
    return found


def _starts(sample: Ints, when: Timeline) -> Ints:
    """Where each run begins in samples sorted by thread, and so by run."""
    if len(when.start) == 2:
        return np.array([0, len(sample)])
    return np.searchsorted(when.position[sample], np.array(when.start))


def _by_thread(readings: Readings, when: Timeline) -> Ints:
    """The innermost reading of each sample, sorted by thread and time: what one thread did in a row."""
    sample = readings.sample
    fresh = np.ones(len(sample), np.bool_)
    fresh[1:] = sample[1:] != sample[:-1]
    first = np.flatnonzero(fresh)
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
    ends = np.append(np.flatnonzero(~stays), len(stays)) + 1
    ends[1:] -= ends[:-1].copy()
    return ends


def _rows(run: Run) -> Rows:
    recording = run.recording
    return recording.rows("values") if isinstance(recording, _Streaming) else HeldRows(recording.table("values"))


def _relative_lines(run: Run, functions: FunctionIndex) -> Ints:
    """For every frame its line counted from its function's declaration: the same in builds that moved the function."""
    declared = functions.declared_line[run]
    start = np.array([declared.get(number, 0) for number in functions.of_frame[run]], np.int64)
    lines = np.array(ints(run.frames, "line"), np.int64)
    return np.where(lines > 0, lines - start, ANY_LINE)
