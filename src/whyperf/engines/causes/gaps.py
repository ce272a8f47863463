"""What is missing from a recording while the tracer sheds, and what must not be concluded across it."""

from __future__ import annotations

import numpy as np

from whyperf.engines.causes.arrays import Ints
from whyperf.engines.causes.messages import Channels
from whyperf.engines.causes.trace import Trace

_CALLS = "system calls"  # how what was shed begins where calls themselves, not their stacks, are missing
_APART = np.uint64(0x9E3779B97F4A7C15)


def without_gaps(trace: Trace, moved: Channels) -> Channels:
    """Transfers between which none is missing: those while calls were shed are left out, and a channel that went on
    after that is another one. Bytes are matched first in, first out: one that is missing would shift all that follow.
    """
    told = trace.manifest.trace
    gaps = sorted((shed.start, shed.end) for shed in (told.shed if told else ()) if shed.what.startswith(_CALLS))
    if not gaps:
        return moved
    begins = np.array([begin for begin, _ in gaps], np.int64)
    ends = np.maximum.accumulate(np.array([end for _, end in gaps], np.int64))
    time: Ints = trace.events.time[moved.rows]
    before = np.searchsorted(begins, time, side="right")
    kept = (before == 0) | (time >= ends[np.maximum(before - 1, 0)])
    channel = moved.channel[kept] ^ (before[kept].astype(np.uint64) * _APART)
    return Channels(moved.rows[kept], channel, moved.sends[kept])
