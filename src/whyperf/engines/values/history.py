"""What a variable held, in more detail than a verdict tells: its distribution in cells, and its course over time.

Summarised here, however many readings there are: a million of them become some dozens of cells and some hundreds of
moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.compare import Abnormal, Values
from whyperf.engines.values.kinds import Dimension, ValueKind, first_size, numbers, ordered, written
from whyperf.engines.values.loading import LoadedReadings, SideReadings
from whyperf.engines.values.readings import Readings, sequences
from whyperf.engines.values.sentences import unit_of
from whyperf.engines.values.value_summary import cells_of, plain
from whyperf.engines.values.variables import VariableIndex

_CELLS = 48
_NAMED_VALUES = 12  # up to so many different values are told apart by name instead of by cell
_MOMENTS = 120  # of each run


@dataclass(frozen=True)
class ValueDistribution:
    """Shares of the readings. Cells lie between `edges`, or are single values, each with its label."""

    edges: tuple[float, ...]
    labels: tuple[str, ...]
    good: tuple[float, ...]
    bad: tuple[float, ...]


@dataclass(frozen=True)
class Course:
    """One run: the lowest, the middle and the highest reading around each of some moments."""

    good: bool
    run: int  # counted from 1 among those of its kind
    seconds: tuple[float, ...]  # since the start of the run's window
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class History:
    distribution: ValueDistribution
    courses: tuple[Course, ...]  # none for pointers: where they point to has no course


class Histories:
    """Reads variables again, one at a time."""

    def __init__(self, values: Values) -> None:
        functions = values.functions
        variables = VariableIndex(functions)
        self._number = {variable: number for number, variable in enumerate(variables.variables)}
        self._sides = tuple(SideReadings(runs, functions, variables) for runs in (functions.good, functions.bad))

    def of(self, one: Abnormal) -> History:
        kind, number = one.variable.kind, self._number[one.variable]
        loaded = [side.load([number]) for side in self._sides]
        both = [(side, one.of(number)) for side, one in zip(self._sides, loaded, strict=True)]
        good, bad = (_compared(side, number, kind, one.dimension) / unit_of(one) for side in loaded)
        unit = _unit(kind, [readings for _, readings in both])
        courses = (
            []
            if kind is ValueKind.POINTER
            else [
                course
                for (side, readings), is_good in zip(both, (True, False), strict=True)
                for course in _courses(side, readings, kind, is_good, unit)
            ]
        )
        return History(distribution(good, bad, kind, one.dimension), tuple(courses))


def distribution(good: Floats, bad: Floats, kind: ValueKind, dimension: Dimension) -> ValueDistribution:
    different = np.union1d(good, bad)
    if len(different) <= _NAMED_VALUES:
        is_number = dimension is Dimension.DURATION or (dimension is Dimension.DELTA and not kind.is_scaled)
        named = ValueKind.SIGNED if is_number else kind
        shares = [_shares(np.searchsorted(different, side), len(different)) for side in (good, bad)]
        return ValueDistribution((), tuple(written(named, value) for value in different.tolist()), *shares)
    edges = _edges(good, bad, different)
    last = len(edges) - 2
    cells = [np.clip(np.searchsorted(edges, side, "right") - 1, 0, last) for side in (good, bad)]
    return ValueDistribution(tuple(edges.tolist()), (), *(_shares(cell, last + 1) for cell in cells))


def _edges(good: Floats, bad: Floats, different: Floats) -> Floats:
    """A cell for every whole number where there are few enough, with the number in its middle."""
    low, high = float(different[0]), float(different[-1])
    if high - low < _CELLS and bool(np.all(different == np.round(different))):
        return np.arange(low, high + 2) - 0.5
    return cells_of(good, bad, _CELLS)


def _shares(cell: Ints, cells: int) -> tuple[float, ...]:
    return tuple((np.bincount(cell, minlength=cells) / max(1, len(cell))).tolist())


def _compared(loaded: LoadedReadings, number: int, kind: ValueKind, dimension: Dimension) -> Floats:
    codes = sequences(loaded.of(number), loaded.succession(number), kind, (dimension,))[dimension].codes
    values = plain(kind, dimension, codes)
    return values[np.isfinite(values)]


def _unit(kind: ValueKind, sides: Iterable[Readings]) -> float:
    """Of redacted numbers the middle one, of the good runs if it can be one."""
    if not kind.is_scaled:
        return 1.0
    return first_size(float(np.median(one.raw.view(np.float64))) for one in sides if len(one))


def _courses(side: SideReadings, readings: Readings, kind: ValueKind, good: bool, unit: float) -> Iterator[Course]:
    values = numbers(kind, ordered(kind, np.ascontiguousarray(readings.raw))) / unit
    bounds = readings.starts.tolist()
    for number, (run, start, stop) in enumerate(zip(side.runs, bounds[:-1], bounds[1:], strict=True), 1):
        since = (readings.time[start:stop] - run.manifest.window.start) / 1e9
        if start < stop:
            yield _course(since, values[start:stop], good, number)


def _course(seconds: Floats, values: Floats, good: bool, number: int) -> Course:
    finite = np.isfinite(values)
    seconds, values = seconds[finite], values[finite]
    order = np.argsort(seconds, kind="stable")
    pieces = [np.sort(values[piece]) for piece in _pieces(order)]
    return Course(
        good=good,
        run=number,
        seconds=tuple(float(seconds[piece].mean()) for piece in _pieces(order)),
        low=tuple(float(piece[0]) for piece in pieces),
        middle=tuple(float(piece[len(piece) // 2]) for piece in pieces),
        high=tuple(float(piece[-1]) for piece in pieces),
    )


def _pieces(order: Ints) -> list[Ints]:
    return np.array_split(order, min(_MOMENTS, len(order))) if len(order) else []
