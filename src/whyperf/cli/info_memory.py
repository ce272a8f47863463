"""What `whyperf info` says of a recording of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from whyperf.engines.holdings import Holdings, holdings_of
from whyperf.engines.quantities import in_bytes
from whyperf.engines.sampled_bytes import at_peak, of_rows
from whyperf.recording.schemas.memory_tables import MemoryKind

if TYPE_CHECKING:
    from whyperf.recording.sealed.reader import Recording

_CELLS = 40
_HEIGHTS = " ▁▂▃▄▅▆▇█"


def memory_lines(recording: Recording) -> Iterator[tuple[str, str]]:
    held = holdings_of(recording)
    interval = in_bytes(recording.manifest.sampling.memory_interval)
    began = (held.peak_time - recording.manifest.start_monotonic) / 1e9
    yield (
        "memory",
        f"{len(held):,} sampled allocations (one in {interval}), standing for {in_bytes(float(held.weight.sum()))}: "
        f"{at_peak([held])} in use at the peak, {began:.2f} s after the start; "
        f"{of_rows([held], [held.kept])} never freed",
    )
    if len(held):
        yield "", f"{curve(held)}  in use over time"
    pages = holdings_of(recording, MemoryKind.PAGE)
    if len(pages):
        gone = in_bytes(float(pages.weight[pages.freed].sum()))
        yield "pages", f"{in_bytes(float(pages.weight.sum()))} touched for the first time, {gone} of it given back"


def curve(held: Holdings) -> str:
    """The largest amount in use within each part of the window."""
    first, last = held.window
    bounds = np.linspace(first, last, _CELLS + 1)[1:]
    cell = np.minimum(np.searchsorted(bounds, held.curve.time), _CELLS - 1)
    most = np.zeros(_CELLS)
    np.maximum.at(most, cell, held.curve.bytes)
    ends = np.searchsorted(held.curve.time, bounds) - 1
    carried = np.where(ends >= 0, held.curve.bytes[np.maximum(ends, 0)], 0.0)
    most[1:] = np.maximum(most[1:], carried[:-1])
    highest = max(float(most.max()), 1.0)
    return "".join(_HEIGHTS[int(np.ceil(part / highest * (len(_HEIGHTS) - 1)))] for part in most)
