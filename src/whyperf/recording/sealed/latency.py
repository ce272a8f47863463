"""How long requests took, as a histogram: cells 2% wide, so that runs of any length are small and can be added."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, log

from whyperf.recording.safe_files.dataclass_json import Amount, Count

_WIDTH = 1.02
_LEAST_S = 1e-9


@dataclass(frozen=True)
class SlowRequest:
    """One of the slowest."""

    seconds: Amount
    begins_s: Amount  # after the window opened
    pid: Count
    tid: Count


@dataclass(frozen=True)
class Latency:
    """Of one run's window."""

    source: str  # "driver", "kernel events", "calls"
    count: Count = 0  # requests in the histogram; 0: only percentiles are known
    cells: dict[str, int] = field(default_factory=dict)  # number of the cell -> requests
    percentiles: dict[str, Amount] = field(default_factory=dict)  # "50", "99" ...: as reported, where they were
    function: str = ""  # whose calls are the requests; empty: others are
    slowest: tuple[SlowRequest, ...] = ()  # of calls, the slowest first
    lost: Count = 0  # calls that ended otherwise than by returning, or whose end was not seen
    unfinished: Count = 0  # calls that had not ended when the window did
    nested: Count = 0  # calls within calls, which are parts of them

    def percentile(self, which: float) -> float | None:
        """In seconds; None: unknown."""
        if not self.count:
            return self.percentiles.get(f"{which:g}")
        wanted, seen = ceil(self.count * which / 100), 0
        for cell in sorted(map(int, self.cells)):
            seen += self.cells[str(cell)]
            if seen >= wanted:
                return cell_seconds(cell)
        return None

    @property
    def mean_s(self) -> float | None:
        if not self.count:
            return None
        return sum(cell_seconds(int(cell)) * number for cell, number in self.cells.items()) / self.count


def cell_of(seconds: float) -> int:
    return floor(log(max(seconds, _LEAST_S) / _LEAST_S, _WIDTH))


def cell_seconds(cell: int) -> float:
    """The middle of a cell."""
    return float(_LEAST_S * _WIDTH ** (cell + 0.5))


class LatencyCount:
    """Adds up what is reported; what was reported before the window opened is warm-up."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._cells: Counter[int] = Counter()
        self._percentiles: dict[str, float] = {}
        self._guard = threading.Lock()  # the driver's output is read beside

    def window_opens(self) -> None:
        with self._guard:
            self._cells.clear()
            self._percentiles.clear()

    def add(self, seconds: Iterable[float]) -> None:
        with self._guard:
            self._cells.update(cell_of(one) for one in seconds)

    def report(self, percentiles: Mapping[str, float]) -> None:
        """The last report counts."""
        with self._guard:
            self._percentiles.update(percentiles)

    @property
    def latency(self) -> Latency | None:
        with self._guard:
            cells = {str(cell): number for cell, number in sorted(self._cells.items())}
            percentiles = dict(self._percentiles)
        return Latency(self._source, sum(cells.values()), cells, percentiles) if cells or percentiles else None
