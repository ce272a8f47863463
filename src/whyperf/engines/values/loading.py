"""Readings from the recordings: some variables at a time, run after run: what is held does not grow with either.

What is read of a run is read in one go, for all of the variables asked for; nothing of it stays but the readings.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import numpy as np

from whyperf.engines.execution import HERE, Executor
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Ints, Run
from whyperf.engines.values.kinds import Flags, ValueKind, usable
from whyperf.engines.values.readings import ANY_LINE, NO_CALLEE, Readings, Succession
from whyperf.engines.values.timeline import Timeline, timeline
from whyperf.engines.values.variables import VariableIndex
from whyperf.recording.sealed.row_groups import Columns, HeldRows, Rows

# Readings and variables that are held at once; a variable with more readings is held alone. Fewer variables would be
# shared by more workers, but what is done for every run each time would show.
_READINGS_AT_ONCE = 1 << 19
_VARIABLES_AT_ONCE = 256
# Samples whose timelines are kept for the next variables: a few hundred megabytes.
_SAMPLES_KEPT = 4_000_000

_Span = tuple[int, int]  # rows of one variable
_COLUMNS = ("raw", "sample", "depth", "frame", "line", "callee", "time")


@runtime_checkable
class _Streaming(Protocol):
    def rows(self, name: str) -> Rows: ...

    def was_checked(self, name: str) -> None: ...


def has_values(run: Run) -> bool:
    listed = run.manifest.tables
    if listed:
        return "values" in listed and listed["values"].rows > 0
    return run.recording.table("values").num_rows > 0


class SideReadings:
    """The readings of all runs of one kind, by variable number."""

    def __init__(
        self, runs: Sequence[Run], functions: FunctionIndex, variables: VariableIndex, executor: Executor = HERE
    ) -> None:
        self.runs = tuple(runs)
        self._kinds = [variable.kind for variable in variables.variables]
        self._where: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # by variable: runs and rows
        found = executor.map("looking for values", _spans, None, runs)
        for at, (run, spans) in enumerate(zip(runs, found, strict=True)):
            if isinstance(run.recording, _Streaming):
                run.recording.was_checked("values")
            for number, row in variables.rows[run].items():
                if row in spans:
                    self._where[number].append((at, *spans[row]))
        self._line = [_relative_lines(run, functions) for run in runs]
        self.frame_functions = [functions.of_frame[run] for run in runs]
        self._called = [_called(run, functions) for run in runs]
        self._innermost = [np.array([*run.stack_frame, -1], np.int64) for run in runs]  # frames by stack, then of none
        self.frame_start: Ints = np.concatenate(([0], np.cumsum([len(one) for one in self._line])))
        self._timelines = _Timelines()

    @property
    def total(self) -> int:
        return sum(map(self.count, self._where))

    def count(self, number: int) -> int:
        return sum(stop - start for _, start, stop in self._where.get(number, ()))

    def first_row(self, number: int) -> int:
        return max((start for _, start, _ in self._where.get(number, ())), default=0)

    def of(self, number: int) -> Readings:
        return self.load([number]).of(number)

    def load(self, numbers: Sequence[int]) -> LoadedReadings:
        wanted: dict[int, list[tuple[_Span, int]]] = defaultdict(list)
        for at, number in enumerate(numbers):
            for run, start, stop in self._where.get(number, ()):
                wanted[run].append(((start, stop), at))
        kinds = [self._kinds[number] for number in numbers]
        pieces = {run: self._of_run(run, sorted(spans), kinds) for run, spans in sorted(wanted.items())}
        return LoadedReadings(numbers, len(self.runs), pieces)

    def _of_run(self, at: int, spans: list[tuple[_Span, int]], kinds: list[ValueKind]) -> _OfRun:
        when = self._timelines.of(self.runs[at])
        columns = _read(_rows(self.runs[at]), [span for span, _ in spans])
        columns = _placed(columns, when, self._innermost[at])
        variable = np.repeat(np.array([one for _, one in spans]), [stop - start for (start, stop), _ in spans])
        kept = np.flatnonzero(_kept(columns, variable, kinds, when))
        kept = kept[_in_order(variable[kept])]
        columns, variable = {name: values[kept] for name, values in columns.items()}, variable[kept]
        sample, frame = columns["sample"].astype(np.int64), columns["frame"].astype(np.int64)
        columns["callee"] = _callees(sample, columns["depth"], when, self.runs[at].stack_parent, self._called[at])
        columns["line"], columns["time"] = self._line[at][frame], when.time[sample]
        succession = _succession(variable, sample, columns, when)
        columns |= {"raw": columns["value"], "sample": sample, "frame": frame + self.frame_start[at]}
        return _OfRun(variable, columns, *succession)


class _Timelines:
    """Those last used. Not sent along with readings: whoever needs them makes them from the recordings."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Run, Timeline] = OrderedDict()
        self._one_at_a_time = Lock()

    def __reduce__(self) -> tuple[type[_Timelines], tuple[()]]:
        return _Timelines, ()

    def of(self, run: Run) -> Timeline:
        with self._one_at_a_time:
            found = self._kept.pop(run, None) or timeline(run)
            self._kept[run] = found
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _SAMPLES_KEPT:
                self._kept.popitem(last=False)
            return found


@dataclass(frozen=True)
class _OfRun:
    """One run's readings of several variables, sorted by variable; and their succession likewise."""

    variable: Ints
    columns: Columns
    reading: Ints  # counted from the variable's first in this run
    reading_variable: Ints
    follows: Flags
    stays: Flags


class LoadedReadings:
    """The readings of some variables."""

    def __init__(self, numbers: Sequence[int], runs: int, pieces: dict[int, _OfRun]) -> None:
        self._at = {number: at for at, number in enumerate(numbers)}
        counts, chosen = (np.zeros((len(numbers), runs), np.int64) for _ in range(2))
        for run, piece in pieces.items():
            counts[:, run] = np.bincount(piece.variable, minlength=len(numbers))
            chosen[:, run] = np.bincount(piece.reading_variable, minlength=len(numbers))
        self._starts, self._chosen_starts = _starts(counts), _starts(chosen)
        order = _in_order(_joined([piece.variable for piece in pieces.values()]))
        self._columns = {name: _joined([piece.columns[name] for piece in pieces.values()])[order] for name in _COLUMNS}
        order = _in_order(_joined([piece.reading_variable for piece in pieces.values()]))
        reading = [
            piece.reading + self._starts[piece.reading_variable, run] - self._starts[piece.reading_variable, 0]
            for run, piece in pieces.items()
        ]
        self._reading = _joined(reading)[order]
        self._follows = _joined([piece.follows for piece in pieces.values()]).astype(np.bool_)[order]
        self._stays = _joined([piece.stays for piece in pieces.values()]).astype(np.bool_)[order]

    def of(self, number: int) -> Readings:
        starts = self._starts[self._at[number]]
        here = slice(starts[0], starts[-1])
        return Readings(**{name: values[here] for name, values in self._columns.items()}, starts=starts - starts[0])

    def succession(self, number: int) -> Succession:
        starts = self._chosen_starts[self._at[number]]
        here = slice(starts[0], starts[-1])
        return Succession(self._reading[here], self._follows[here], self._stays[here], starts - starts[0])


def portions(numbers: Sequence[int], sides: Sequence[SideReadings]) -> Iterator[list[int]]:
    """The variables in the given order, as many at a time as may be held at once."""
    portion: list[int] = []
    readings = 0
    for number in numbers:
        count = sum(side.count(number) for side in sides)
        if portion and (len(portion) == _VARIABLES_AT_ONCE or readings + count > _READINGS_AT_ONCE):
            yield portion
            portion, readings = [], 0
        portion.append(number)
        readings += count
    if portion:
        yield portion


def _spans(_: None, run: Run) -> dict[int, _Span]:
    return _rows(run).spans("variable")


def _rows(run: Run) -> Rows:
    recording = run.recording
    return recording.rows("values") if isinstance(recording, _Streaming) else HeldRows(recording.table("values"))


def _read(rows: Rows, spans: Sequence[_Span]) -> Columns:
    """The rows of spans in their order; those that adjoin are read in one go."""
    breaks = [0, *(at + 1 for at, (one, other) in enumerate(pairwise(spans)) if one[1] != other[0]), len(spans)]
    pieces = [rows.read(spans[first][0], spans[end - 1][1]) for first, end in pairwise(breaks)]
    return {name: _joined([piece[name] for piece in pieces]) for name in ("value", "sample", "depth", "frame")}


def _placed(columns: Columns, when: Timeline, innermost: Ints) -> Columns:
    """Globals, which are no frame's, are read in the innermost one."""
    of_global = (columns["depth"] < 0) & (columns["sample"] >= 0)
    frame = np.where(of_global, innermost[when.stack[np.maximum(columns["sample"], 0)]], columns["frame"])
    return {**columns, "frame": frame, "depth": np.maximum(columns["depth"], 0)}


def _kept(columns: Columns, variable: Ints, kinds: Sequence[ValueKind], when: Timeline) -> Flags:
    """Which rows are readings: of a sample that counts, at a known place, and not not-a-number."""
    sample, frame = columns["sample"], columns["frame"]
    kept: Flags = when.counted[np.maximum(sample, 0)] & (sample >= 0) & (frame >= 0)
    doubles = np.flatnonzero(np.array([kind.is_double for kind in kinds])[variable])
    kept[doubles] &= usable(ValueKind.FLOAT, columns["value"][doubles])
    return kept


def _callees(sample: Ints, depth: Ints, when: Timeline, parents: Sequence[int], called: Ints) -> Ints:
    """Which function each frame of the samples was waiting for."""
    parent = np.array([*parents, -1], np.int64)  # the last is the parent of none
    callee = np.full(len(sample), NO_CALLEE, np.int64)
    above = np.flatnonzero(depth > 0)
    node, left = when.stack[sample[above]], depth[above].astype(np.int64) - 1
    climbing = np.flatnonzero(left > 0)
    while len(climbing):
        node[climbing] = parent[node[climbing]]
        left[climbing] -= 1
        climbing = climbing[left[climbing] > 0]
    callee[above] = called[node]
    return callee


def _called(run: Run, functions: FunctionIndex) -> Ints:
    """For every stack the function that its innermost call is to, and at the end that of no stack."""
    numbers = functions.of_frame[run]
    called = [numbers[run.frame_chain[frame][0]] for frame in run.stack_frame]
    return np.array([*called, NO_CALLEE], np.int64)


def _succession(variable: Ints, sample: Ints, columns: Columns, when: Timeline) -> tuple[Ints, Ints, Flags, Flags]:
    """The innermost reading of each sample by variable, thread and time, counted from the variable's first; whose it
    is; whether it follows the one before, and whether the value stays."""
    fresh = np.ones(len(sample), np.bool_)
    fresh[1:] = (sample[1:] != sample[:-1]) | (variable[1:] != variable[:-1])
    chosen = np.flatnonzero(fresh)
    whose, position = variable[chosen], when.position[sample[chosen]]
    if np.any((position[1:] <= position[:-1]) & (whose[1:] == whose[:-1])):
        chosen = chosen[np.lexsort((position, whose))]  # the variables are in order already, and remain so
    taken, raw = sample[chosen], columns["value"][chosen]
    follows, stays = (np.zeros(len(chosen), np.bool_) for _ in range(2))
    follows[1:] = (whose[1:] == whose[:-1]) & (when.thread[taken[1:]] == when.thread[taken[:-1]])
    stays[1:] = follows[1:] & (raw[1:] == raw[:-1])
    at = np.flatnonzero(stays)
    if len(at):
        callers = when.height[taken[at]] - columns["depth"][chosen[at]] - 1
        stays[at] = when.fewest_shared(taken[at - 1], taken[at]) >= callers
    first = np.searchsorted(variable, whose)
    return chosen - first, whose, follows, stays


def _relative_lines(run: Run, functions: FunctionIndex) -> Ints:
    """For every frame its line counted from its function's declaration: the same in builds that moved the function."""
    declared = functions.declared_line[run]
    start = np.array([declared.get(number, 0) for number in functions.of_frame[run]], np.int64)
    lines = np.array(run.frame_line, np.int64)
    return np.where(lines > 0, lines - start, ANY_LINE)


def _starts(counts: Ints) -> Ints:
    """Row by row, through all rows: where each count begins, and in one more column where the last one ends."""
    ends = np.cumsum(counts.ravel()).reshape(counts.shape)
    return np.concatenate((ends - counts, ends[:, -1:]), axis=1)


def _in_order(variable: Ints) -> Ints | slice:
    """What sorts by variable and leaves everything else as it is."""
    if np.all(variable[1:] >= variable[:-1]):
        return slice(None)
    return np.argsort(variable, kind="stable")


def _joined(pieces: Sequence[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)
