"""What is missing from a recording while the tracer sheds, and what must not be concluded across it."""

from __future__ import annotations

import numpy as np

from whyperf.engines.arrays import Ints
from whyperf.engines.causes.causal_graph.messages import Channels
from whyperf.engines.causes.causal_graph.trace import EventTrace

# What may be shed that tells of transfers. The calls that are shed first, which transfer nothing, are not among it.
_TRANSFERS = frozenset(
    {
        "system calls that neither waited nor woke anybody",
        "socket lengths and timers",
        "socket data and timers",  # as recordings said before
        "system calls",
    }
)
_APART = np.uint64(0x9E3779B97F4A7C15)


def without_gaps(trace: EventTrace, moved: Channels) -> Channels:
    """Transfers without those while transfers were shed; a channel that went on after that is another one.

    Bytes are matched first in, first out: one that is missing shifts all that follow. So what was lost in a gap shifts
    nothing, but for bytes that were sent within it and read after it: those are taken for the first ones sent after it.
    """
    told = trace.manifest.trace
    gaps = sorted((shed.start, shed.end) for shed in (told.shed if told else ()) if shed.what in _TRANSFERS)
    if not gaps:
        return moved
    begins = np.array([begin for begin, _ in gaps], np.int64)
    ends = np.maximum.accumulate(np.array([end for _, end in gaps], np.int64))
    time: Ints = trace.events.time[moved.rows]
    before = np.searchsorted(begins, time, side="right")
    kept = (before == 0) | (time >= ends[np.maximum(before - 1, 0)])
    channel = moved.channel[kept] ^ (before[kept].astype(np.uint64) * _APART)
    return Channels(moved.rows[kept], channel, moved.sends[kept])
