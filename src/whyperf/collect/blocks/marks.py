"""The files in which processes mark the blocks that they enter: `native/blocks/marks.h` has the same numbers.

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
_MAGIC, _VERSION = b"WPBLOCKS", 1
_HEADER = struct.Struct("<8sII20sIII")
_BUILD_ID_BYTES = 20

Times = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Marks:
    """Of all processes of a run."""

    first: Mapping[str, Times]
    """By build-id, for each block of the plan: CLOCK_MONOTONIC in ns; 0: never entered."""
    is_whole: bool
    """Every process was looked at until it ended."""


def read_marks(folder: Path, plans: Mapping[str, PatchPlan]) -> Marks:
    """`plans`: by build-id."""
    first: dict[str, Times] = {}
    is_whole, paths = True, list(folder.glob("*.marks"))
    for build_id, times, ended in filter(None, (_read(path.read_bytes(), plans) for path in paths)):
        is_whole = is_whole and not ended
        first[build_id] = _earlier(first[build_id], times) if build_id in first else times
    return Marks(first, is_whole and len(paths) < MOST_FILES)


def _read(content: bytes, plans: Mapping[str, PatchPlan]) -> tuple[str, Times, bool] | None:
    if len(content) < _HEADER.size:
        return None
    magic, version, blocks, build_id, id_bytes, checksum, ended = _HEADER.unpack_from(content)
    if magic != _MAGIC or version != _VERSION or id_bytes > _BUILD_ID_BYTES:
        return None
    named = build_id[:id_bytes].hex()
    plan = plans.get(named)
    whole = _HEADER.size + blocks * 8 == len(content)
    if plan is None or plan.checksum != checksum or blocks != len(plan.patches) or not whole:
        return None
    return named, np.frombuffer(content, np.uint64, blocks, _HEADER.size), bool(ended)


def _earlier(one: Times, other: Times) -> Times:
    never = np.uint64(0)
    return np.where(one == never, other, np.where(other == never, one, np.minimum(one, other)))
