"""What stubs of allocators have in common on all machines."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from whyperf.allocators.functions import AllocatorRole, Arguments
from whyperf.debuginfo.probes.plan_file import PatchPlan

NO_ARGUMENT = 255
FOLD, GRANULE, BUCKET_BITS = 15, 6, 15
"""As `live_bucket` in `native/memory/live.h`: `(address ^ address >> FOLD) >> GRANULE`, its lowest bits."""


class StubSlot(IntEnum):
    """What the target fills in: the same numbers as in `native/memory/linked.c`."""

    ALLOCATION = 0
    RELEASE = 1
    THREAD = 2
    LIVE = 3
    OWNED = 4
    STUBS = 5


def hook_bytes(role: AllocatorRole, arguments: Arguments, allocator: int) -> bytes:
    """`struct linked_hook`, behind its first member."""

    def number(argument: int | None) -> int:
        return NO_ARGUMENT if argument is None else argument

    found = (arguments.size, arguments.count, arguments.pointer, arguments.arena)
    return bytes((role, *map(number, found), allocator, arguments.size_bytes, 0))


class AllocatorStubs(Protocol):
    def put(self, address: int, role: AllocatorRole, arguments: Arguments, allocator: int) -> None:
        """NotSampled where the function's first instructions cannot be replaced."""

    def plan_of_slots(self, build_id: str) -> PatchPlan: ...
