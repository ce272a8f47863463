"""A plan as a file: `native/probes/plan.h` has the same numbers, and says what the parts mean."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"WPPROBES"
VERSION = 2
PLANNER = 3
"""Raised whenever plans get better: older ones are made anew."""
OLD_BYTES = 14
BUILD_ID_BYTES = 20
_CHECKSUM_AT = 8
_HEADER = struct.Struct("<8sII20sIIIIIIIIIII")
PATCH = np.dtype([("at", "<u4"), ("stub", "<u4"), ("size", "u1"), ("kind", "u1"), ("old", f"V{OLD_BYTES}")])
INCREMENT = np.dtype([("at", "<u4"), ("counter", "<u4")])
SITE = np.dtype(
    [
        ("address", "<u4"),
        ("counter", "<i4"),  # -1: not counted
        ("target", "<i8"),  # -1: unknown
        ("function", "<u4"),  # where its stretch of code starts; of a conditional jump, what follows it
        ("kind", "u1"),  # a `CallKind`; of a conditional jump, the `Ways` that its own trap tells
        ("reason", "u1"),  # a `NotCounted`
        ("padding", "<u2"),
    ]
)
Rows = npt.NDArray[np.void]


class PatchKind(IntEnum):
    DISTANCE = 0
    CALL = 1
    JUMP = 2
    TRAP = 3
    ALWAYS = 4
    NEVER = 5
    AS_IS = 6


class PlanFlags(IntFlag):
    NONE = 0
    TAKES_REGISTER = 1
    HAS_TRAPS = 2


@dataclass(frozen=True, eq=False)
class PatchPlan:
    build_id: str
    machine: int
    """As ELF numbers it."""
    flags: PlanFlags
    patches: Rows
    fixes: npt.NDArray[np.uint32]
    increments: Rows
    stubs: bytes
    sites: Rows
    checksum: int = 0
    """Of the plan as it was read."""

    @property
    def counters(self) -> int:
        if len(self.sites):
            return int(self.sites["counter"].max(initial=-1)) + 1
        return int(self.increments["counter"].max(initial=0)) + 1 if len(self.increments) else 0


@dataclass(frozen=True)
class Planned:
    """And how much code there was."""

    plan: PatchPlan
    functions: int
    not_understood: int


def written(plan: PatchPlan) -> bytes:
    build_id = bytes.fromhex(plan.build_id)
    sites = plan.sites.tobytes()
    fields = _HEADER.pack(
        MAGIC,
        0,
        VERSION,
        build_id.ljust(BUILD_ID_BYTES, b"\0"),
        len(build_id),
        len(plan.patches),
        len(plan.fixes),
        len(plan.increments),
        plan.counters,
        len(plan.stubs),
        len(plan.sites),
        plan.flags,
        PLANNER,
        zlib.crc32(sites),
        plan.machine,
    )
    parts = (plan.patches.tobytes(), plan.fixes.astype("<u4").tobytes(), plan.increments.tobytes(), plan.stubs)
    checked = b"".join((fields[_CHECKSUM_AT + 4 :], *parts))
    return b"".join((MAGIC, struct.pack("<I", zlib.crc32(checked)), checked, sites))


def read(content: bytes) -> PatchPlan | None:
    """None for what is damaged, or of another version."""
    if len(content) < _HEADER.size:
        return None
    (
        magic,
        checksum,
        version,
        build_id,
        id_bytes,
        patches,
        fixes,
        increments,
        _,
        stubs,
        sites,
        flags,
        planner,
        crc,
        machine,
    ) = _HEADER.unpack_from(content)
    if magic != MAGIC or version != VERSION or planner != PLANNER or id_bytes > BUILD_ID_BYTES:
        return None
    sizes = (patches * PATCH.itemsize, fixes * 4, increments * INCREMENT.itemsize, stubs, sites * SITE.itemsize)
    ends = (np.cumsum(sizes, dtype=np.int64) + _HEADER.size).tolist()
    if ends[-1] != len(content) or zlib.crc32(content[_CHECKSUM_AT + 4 : ends[3]]) != checksum:
        return None
    if zlib.crc32(content[ends[3] :]) != crc:
        return None

    def rows(dtype: Any, count: int, at: int) -> npt.NDArray[Any]:
        return np.frombuffer(content, dtype, count, at)

    return PatchPlan(
        build_id[:id_bytes].hex(),
        machine,
        PlanFlags(flags),
        rows(PATCH, patches, _HEADER.size),
        rows(np.uint32, fixes, ends[0]),
        rows(INCREMENT, increments, ends[1]),
        content[ends[2] : ends[3]],
        rows(SITE, sites, ends[3]),
        checksum,
    )
