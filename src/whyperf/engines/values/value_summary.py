"""What a variable held, for people: range, typical value, a small histogram; which values are abnormal, and where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyperf.engines.run import Floats, Ints
from whyperf.engines.values.bins import bin_edges, in_bins
from whyperf.engines.values.kinds import Dimension, Flags, ValueKind, numbers, step_numbers
from whyperf.engines.values.loading import SideReadings
from whyperf.engines.values.readings import Sequence
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.variables import Variable

_NOTICEABLE = 0.01  # share of the bad runs' readings that a bin of abnormal values holds at least


@dataclass(frozen=True)
class Spread:
    low: float
    typical: float
    high: float
    at_typical: float  # share of the readings that are exactly that
    histogram: tuple[float, ...]

    @property
    def constant(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class ReadAt:
    file: str
    line: int
    block: int
    share: float  # of the abnormal readings


@dataclass(frozen=True)
class Contrast:
    """Good against bad, in one dimension of one variable."""

    good: Spread
    bad: Spread
    abnormal: tuple[tuple[float, float], ...]  # ranges
    abnormal_share: float  # of the bad runs' readings
    read_at: tuple[ReadAt, ...]  # where abnormal values were read, most first


class FramePlaces:
    """File, line and block of frames numbered through all runs of one kind."""

    def __init__(self, side: SideReadings) -> None:
        self._runs, self._functions, self._start = side.runs, side.frame_functions, side.frame_start

    def of(self, frame: int, function: int) -> tuple[str, int, int]:
        """Where in `function` it is: at an address may also be what was inlined there, of other lines and files."""
        number = int(np.searchsorted(self._start, frame, "right")) - 1
        run, innermost = self._runs[number], frame - int(self._start[number])
        numbers = self._functions[number]
        own = (row for row in reversed(run.frame_chain[innermost]) if numbers[row] == function)
        row = next(own, innermost)
        return str(run.frames.column("file")[row].as_py()), run.frame_line[row], run.frame_block[row]


def contrast(
    good: Sequence,
    bad: Sequence,
    places: FramePlaces,
    settings: ValuesSettings,
    *,
    variable: Variable,
    dimension: Dimension,
) -> Contrast:
    kind = variable.kind
    here, there = good.codes, bad.codes
    edges = bin_edges(here, there, settings.bins)
    cells = cells_of(plain(kind, dimension, here), plain(kind, dimension, there), settings.histogram_cells)
    good_bins, bad_bins = (np.bincount(in_bins(codes, edges), minlength=len(edges)) for codes in (here, there))
    strange = (bad_bins / len(there) > settings.abnormal_factor * good_bins / len(here)) & (
        bad_bins >= _NOTICEABLE * len(there)
    )
    return Contrast(
        _spread(plain(kind, dimension, here), cells),
        _spread(plain(kind, dimension, there), cells),
        _ranges(strange, edges, len(edges) < settings.bins, kind, dimension),
        float(bad_bins[strange].sum()) / len(there),
        _read_at(bad, variable.function, places, edges, strange),
    )


def plain(kind: ValueKind, dimension: Dimension, codes: Ints) -> Floats:
    if dimension is Dimension.VALUE:
        return numbers(kind, codes)
    return step_numbers(kind, codes) if dimension is Dimension.DELTA else codes.astype(np.float64)


def _spread(values: Floats, cells: Floats) -> Spread:
    distinct, counts = np.unique(values, return_counts=True)
    commonest = int(np.argmax(counts))
    share = float(counts[commonest]) / len(values)
    low, middle, high = np.quantile(values, (0.01, 0.5, 0.99), method="nearest")
    typical = float(distinct[commonest]) if share >= 0.5 else float(middle)
    at_typical = float(counts[np.searchsorted(distinct, typical)]) / len(values)
    where = np.clip(np.searchsorted(cells, values, "right") - 1, 0, len(cells) - 2)
    histogram = np.bincount(where, minlength=len(cells) - 1) / len(values)
    return Spread(float(low), typical, float(high), at_typical, tuple(histogram.tolist()))


def cells_of(good: Floats, bad: Floats, count: int) -> Floats:
    """Edges from the lowest to the highest value of both: in equal steps, or equal factors over many magnitudes."""
    lows, highs = zip(*(np.quantile(side, (0.01, 0.99), method="nearest") for side in (good, bad)), strict=True)
    low, high = float(min(lows)), float(max(highs))
    if not np.isfinite(high - low) or low == high:
        return np.linspace(0.0, 1.0, count + 1) + (low if np.isfinite(low) else 0.0)
    if low > 0 and high > 1000 * low:
        return np.geomspace(low, high, count + 1)
    return np.linspace(low, high, count + 1)


def _ranges(
    strange: Flags, edges: Ints, exact: bool, kind: ValueKind, dimension: Dimension
) -> tuple[tuple[float, float], ...]:
    """Adjacent abnormal bins joined. `exact`: a bin is one value, not all from the bin below up to it."""
    upper = plain(kind, dimension, edges)
    ranges: list[tuple[float, float]] = []
    for at in np.flatnonzero(strange).tolist():
        high = float(upper[at])
        if at > 0 and strange[at - 1]:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((high if exact or at == 0 else float(upper[at - 1]), high))
    return tuple(ranges)


def _read_at(bad: Sequence, function: int, places: FramePlaces, edges: Ints, strange: Flags) -> tuple[ReadAt, ...]:
    found: Counter[tuple[str, int, int]] = Counter()
    frames, counts = np.unique(bad.frame[strange[in_bins(bad.codes, edges)]], return_counts=True)
    for frame, count in zip(frames.tolist(), counts.tolist(), strict=True):
        place = places.of(frame, function)
        if place[1] > 0:
            found[place] += count
    total = sum(found.values())
    ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    return tuple(ReadAt(file, line, block, count / total) for (file, line, block), count in ranked)
