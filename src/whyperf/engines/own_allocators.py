"""Memory that an allocator takes to hand it out: where its own calls are sampled, counting both would count twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whyperf.engines.recording_protocol import Recorded


def within_allocators(recording: Recorded) -> npt.NDArray[np.bool_]:
    """Of each stack, and of none at all as the last, whether it passes through an allocator that is sampled itself."""
    stacks, frames, functions = (recording.table(name) for name in ("stacks", "frames", "functions"))
    parent = np.append(stacks.column("parent").to_numpy().astype(np.int64), -1)
    names = recording.manifest.sampling.allocators
    if not names or recording.manifest.losses.modules_not_patched:
        return np.zeros(len(parent), bool)
    is_named = np.append(np.isin(np.array(functions.column("name").to_pylist(), object), names), False)
    of_frame = np.append(is_named[frames.column("function").to_numpy()], False)
    within: npt.NDArray[np.bool_] = of_frame[np.append(stacks.column("frame").to_numpy(), -1)]
    while (parent >= 0).any():
        within, parent = within | within[parent], parent[parent]
    return within
