"""What a variable held in the runs of one kind, reading by reading, and the three sequences that are compared."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Ints
from whyperf.engines.values.kinds import Dimension, Flags, ValueKind, ordered, steps

ANY_LINE = 0
NO_CALLEE = -1


@dataclass(frozen=True)
class Readings:
    """Of one variable: run after run, each in time order. Frames are numbered through all runs, samples in each."""

    raw: Ints
    sample: Ints
    depth: Ints
    frame: Ints
    line: Ints  # relative to the function's declaration
    callee: Ints  # function that the variable's function was waiting for, NO_CALLEE where it ran itself
    time: Ints
    starts: Ints  # where each run begins, and the end

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True)
class Succession:
    """The innermost reading of each sample, run after run, sorted by thread and time: what one thread did in a row."""

    reading: Ints  # which of the readings it is
    follows: Flags  # the one before is of the same thread
    stays: Flags  # ... and of the same value, in the same activation
    starts: Ints  # where each run begins, and the end


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


def sequences(
    readings: Readings, succession: Succession, kind: ValueKind, dimensions: Several[Dimension]
) -> dict[Dimension, Sequence]:
    found: dict[Dimension, Sequence] = {}
    if Dimension.VALUE in dimensions:
        codes = ordered(kind, readings.raw)
        found[Dimension.VALUE] = Sequence(codes, readings.line, readings.callee, readings.frame, readings.starts)
    if Dimension.DELTA in dimensions:
        found[Dimension.DELTA] = _deltas(readings, succession, kind)
    if Dimension.DURATION in dimensions:
        found[Dimension.DURATION] = _durations(readings, succession)
    return found


def _deltas(readings: Readings, succession: Succession, kind: ValueKind) -> Sequence:
    follows = succession.follows
    where = succession.reading[follows]
    return Sequence(
        steps(kind, readings.raw[succession.reading], follows[1:]),
        readings.line[where],
        readings.callee[where],
        readings.frame[where],
        np.concatenate(([0], np.cumsum(follows)))[succession.starts],
    )


def _durations(readings: Readings, succession: Succession) -> Sequence:
    """Samples for which a value stayed: broken by another value, another thread, or the end of the activation."""
    lengths = run_lengths(succession.stays[1:]) if len(readings) else np.zeros(0, np.int64)
    last = np.cumsum(lengths) - 1
    line, callee = np.full(len(lengths), ANY_LINE, np.int64), np.full(len(lengths), NO_CALLEE, np.int64)
    frame = readings.frame[succession.reading[last]]
    return Sequence(lengths, line, callee, frame, np.searchsorted(last, succession.starts))


def run_lengths(stays: Flags) -> Ints:
    """Lengths of the runs of readings, where `stays` tells for all but the first whether it continues its run."""
    ends = np.append(np.flatnonzero(~stays), len(stays)) + 1
    ends[1:] -= ends[:-1].copy()
    return ends
