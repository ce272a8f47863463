"""Which waits of blocked threads count."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whyperf.engines.kernel.system_calls import FOR_ITS_OWN, numbers
from whyperf.engines.recording_protocol import Recorded

_FOR_ITS_OWN = numbers(FOR_ITS_OWN)


class BlockedWaits(Enum):
    ALL = "all"
    OUTSIDE = "outside"  # not for the program's own threads and children
    LOCKS = "locks"  # for a lock: unlike a wait for work, for a thread's or a child's end, nobody rests in it


def which_count(waits: BlockedWaits, samples: pa.Table, recording: Recorded) -> npt.NDArray[np.bool_]:
    """By sample; of those that are no waits this says nothing."""
    if waits is BlockedWaits.OUTSIDE:
        return ~np.isin(samples.column("wait").to_numpy(), _FOR_ITS_OWN)
    if waits is BlockedWaits.LOCKS:
        locks: npt.NDArray[np.bool_] = in_locks(recording)[samples.column("stack").to_numpy()]
        return locks
    return np.ones(samples.num_rows, np.bool_)


def in_locks(recording: Recorded) -> npt.NDArray[np.bool_]:
    """By stack: whether one of its innermost functions takes a lock."""
    from whyperf.engines.kernel.rules import WAITERS_FRAMES, load_rules  # for those few who look at locks

    rules = load_rules()
    frames = recording.table("frames")
    outer, function = _ints(frames, "inlined_in"), _ints(frames, "function")
    names = [str(name) for name in recording.table("functions").column("name").to_pylist()]
    stacks = recording.table("stacks")
    parent, frame = _ints(stacks, "parent"), _ints(stacks, "frame")
    found = np.zeros(stacks.num_rows, np.bool_)
    for stack in range(stacks.num_rows):
        at, inside = stack, frame[stack]
        called: list[str] = []
        while at >= 0 and len(called) < WAITERS_FRAMES:
            if function[inside] >= 0:
                called.append(names[function[inside]])
            inside = outer[inside]
            if inside < 0:
                at = parent[at]
                inside = frame[at] if at >= 0 else -1
        found[stack] = rules.is_lock(called)
    return found


def _ints(table: pa.Table, name: str) -> list[int]:
    numbers: list[int] = table.column(name).to_numpy().tolist()
    return numbers
