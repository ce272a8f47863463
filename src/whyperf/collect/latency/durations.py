"""The file in which the target counts timed calls: `native/latency/durations.h` has the same numbers.

Times in it are ticks of the processor's counter; two readings of it and of the clock say how long a tick is.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect import _session

_MAGIC, _VERSION = 0x54414C5052455057, 1
_CELL_BITS, _LONGEST_BITS, _STRIPES, _SLOWEST = 7, 48, 16, 8
_CELLS = (_LONGEST_BITS - _CELL_BITS + 1) << _CELL_BITS
_HEADER = struct.Struct("<QIIQII")
_WINDOW_AT = 16
_SLOW = np.dtype([("ticks", "<u8"), ("began", "<u8"), ("pid", "<u4"), ("tid", "<u4")])
_STRIPE = np.dtype(
    {
        "names": ["begun", "lost", "nested", "slow_lost", "slow_taken", "slow_least", "slowest", "cells"],
        "formats": ["<u8", "<u8", "<u8", "<u8", "<u4", "<u8", (_SLOW, _SLOWEST), ("<u8", _CELLS)],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 48 + _SLOW.itemsize * _SLOWEST],
        "itemsize": -(-(48 + _SLOW.itemsize * _SLOWEST + 8 * _CELLS) // 64) * 64,
    }
)
_FIRST_STRIPE = 64
_BYTES = _FIRST_STRIPE + _STRIPES * _STRIPE.itemsize


@dataclass(frozen=True)
class SlowCall:
    ticks: int
    began: int
    pid: int
    tid: int


@dataclass(frozen=True)
class CountedDurations:
    """What was counted until some moment."""

    cells: npt.NDArray[np.uint64]
    begun: int
    lost: int
    nested: int

    @property
    def ended(self) -> int:
        return int(self.cells.sum())

    @property
    def unfinished(self) -> int:
        return max(0, self.begun - self.ended - self.lost)


class DurationsFile:
    """Made before the target starts, so that its disk blocks are there."""

    def __init__(self, path: Path) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, _BYTES)
            os.pwrite(fd, _HEADER.pack(_MAGIC, _VERSION, _STRIPES, 0, 0, 0), 0)
            self._content = mmap.mmap(fd, _BYTES)
        finally:
            os.close(fd)
        self._first = _session.ticks()

    def open_window(self) -> None:
        """Slow calls that began before are no longer kept."""
        struct.pack_into("<Q", self._content, _WINDOW_AT, _session.ticks()[0])

    @property
    def patched(self) -> tuple[int, int]:
        """Modules whose code leads here, and those whose code should and does not."""
        fields = _HEADER.unpack_from(self._content)
        return fields[4], fields[5]

    def tally(self) -> CountedDurations:
        stripes = self._stripes()
        sums = (int(stripes[name].sum()) for name in ("begun", "lost", "nested"))
        return CountedDurations(stripes["cells"].sum(axis=0), *sums)

    def slowest(self) -> list[SlowCall]:
        """The slowest first."""
        rows = self._stripes()["slowest"].reshape(-1)
        window = _HEADER.unpack_from(self._content)[3]
        kept = rows[(rows["ticks"] > 0) & (rows["began"] >= window)]
        return [SlowCall(*map(int, one)) for one in kept[np.argsort(kept["ticks"])[::-1]][:_SLOWEST].tolist()]

    def seconds_per_tick(self) -> float:
        ticks, ns = _session.ticks()
        return (ns - self._first[1]) / max(1, ticks - self._first[0]) / 1e9

    def moment(self, ticks: int) -> int:
        """CLOCK_MONOTONIC, ns."""
        return self._first[1] + round((ticks - self._first[0]) * self.seconds_per_tick() * 1e9)

    def _stripes(self) -> npt.NDArray[np.void]:
        """A copy."""
        return np.frombuffer(bytes(self._content), _STRIPE, _STRIPES, _FIRST_STRIPE)


def cell_ticks() -> npt.NDArray[np.float64]:
    """The middle of each cell."""
    number = np.arange(_CELLS, dtype=np.int64)
    power, within = number >> _CELL_BITS, number & ((1 << _CELL_BITS) - 1)
    width = np.exp2(np.maximum(power - 1, 0))
    low = np.where(power == 0, within, (within + (1 << _CELL_BITS)) * width)
    return low + np.where(power == 0, 0.5, width / 2)
