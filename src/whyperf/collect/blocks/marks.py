"""The files in which processes mark the blocks that they enter and the ways of their jumps: `native/blocks/marks.h` has
the same numbers.

A process may have been killed at any moment: what does not fit is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.probes.plan_file import PatchPlan

MOST_FILES = 256
MOST_BYTES = 1 << 30
"""Of all files, as if they were equally long. Half of what a recording takes at most."""
_MAGIC, _VERSION = b"WPBLOCKS", 2
_HEADER = struct.Struct("<8sII20sIII")
_BUILD_ID_BYTES = 20

MARK = np.dtype([("entered", "<u8"), ("taken", "<u8"), ("passed", "<u8"), ("hits", "<u8")])
"""Times: CLOCK_MONOTONIC in ns; 0: never."""
_TIMES = ("entered", "taken", "passed")
Noted = npt.NDArray[np.void]


@dataclass(frozen=True)
class Marks:
    """Of all processes of a run."""

    noted: Mapping[str, Noted]
    """By build-id, for each patch of the plan a `MARK`."""
    is_whole: bool
    """Every process was looked at until it ended."""


def read_marks(folder: Path, plans: Mapping[str, PatchPlan]) -> Marks:
    """`plans`: by build-id."""
    noted: dict[str, Noted] = {}
    is_whole, paths = True, list(folder.glob("*.marks"))
    for build_id, found, ended in filter(None, (_read(path.read_bytes(), plans) for path in paths)):
        is_whole = is_whole and not ended
        noted[build_id] = _earlier(noted[build_id], found) if build_id in noted else found
    return Marks(noted, is_whole and all(len(paths) < _most_files(plan) for plan in plans.values()))


def _most_files(plan: PatchPlan) -> int:
    """Beyond which a process finds no room for its marks of this one."""
    return min(MOST_FILES, max(1, MOST_BYTES // (_HEADER.size + len(plan.patches) * MARK.itemsize)))


def _read(content: bytes, plans: Mapping[str, PatchPlan]) -> tuple[str, Noted, bool] | None:
    if len(content) < _HEADER.size:
        return None
    magic, version, blocks, build_id, id_bytes, checksum, ended = _HEADER.unpack_from(content)
    if magic != _MAGIC or version != _VERSION or id_bytes > _BUILD_ID_BYTES:
        return None
    named = build_id[:id_bytes].hex()
    plan = plans.get(named)
    whole = _HEADER.size + blocks * MARK.itemsize == len(content)
    if plan is None or plan.checksum != checksum or blocks != len(plan.patches) or not whole:
        return None
    return named, np.frombuffer(content, MARK, blocks, _HEADER.size), bool(ended)


def _earlier(one: Noted, other: Noted) -> Noted:
    both, never = one.copy(), np.uint64(0)
    for name in _TIMES:
        mine, its = one[name], other[name]
        both[name] = np.where(mine == never, its, np.where(its == never, mine, np.minimum(mine, its)))
    return both
