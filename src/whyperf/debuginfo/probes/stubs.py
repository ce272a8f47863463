"""The code that replaced instructions lead to: it counts, does what they did, and goes on where they did.

Distances are as if the stubs began at the module's address 0. Whoever places them elsewhere corrects those in `fixes`
by how far that is.
"""

from __future__ import annotations

import struct

import numpy as np

from whyperf.debuginfo.probes.moving import Moved, as_jump
from whyperf.debuginfo.probes.plan_file import INCREMENT, OLD_BYTES, PATCH, SITE, PatchKind, Plan, PlanFlags
from whyperf.recording.call_tables import CallKind, NotCounted

_ALIGNMENT = 16
_FILL = b"\xcc"  # a trap
_INCREMENT = bytes(9)  # written by the target, which knows where its counters are
_JUMP = b"\xe9"
_SHORT_JUMP = 0xEB


class PlanBuilder:
    def __init__(self) -> None:
        self._stubs = bytearray()
        self._fixes: list[int] = []
        self._increments: list[tuple[int, int]] = []
        self._patches: list[tuple[int, int, int, int, bytes]] = []
        self._sites: list[tuple[int, int, int, int, int, int, int]] = []
        self._counters = 0

    def left_alone(self, kind: CallKind, address: int, function: int, target: int, reason: NotCounted) -> None:
        self._sites.append((address, -1, target, function, kind, reason, 0))

    def through(self, kind: CallKind, address: int, function: int, target: int, old: bytes) -> None:
        """A call or jump by distance: count, then go to its target."""
        self._patch(address, old, PatchKind.DISTANCE)
        self._count(kind, address, function, target)
        self._jump(target)

    def by_pointer(self, kind: CallKind, function: int, run: list[Moved]) -> None:
        """A call or jump through a pointer, after so many instructions before it that there is room."""
        last = run[-1]
        is_call = kind is CallKind.POINTER
        old = b"".join(one.content for one in run)
        self._patch(run[0].address, old, PatchKind.CALL if is_call else PatchKind.JUMP)
        for one in run[:-1]:
            self._move(one)
        self._count(kind, last.address, function, -1 if last.near is None else last.near)
        self._move(as_jump(last) if is_call else last)

    def iteration(self, function: int, run: list[Moved], jump: int, target: int, old: bytes) -> None:
        """A short jump back at `jump`, its bytes `old`, after so many instructions before it that there is room."""
        content = b"".join(one.content for one in run) + old
        self._patch(run[0].address, content, PatchKind.JUMP)
        for one in run:
            self._move(one)
        if old[0] != _SHORT_JUMP:
            # Where it does not jump back: over the increment and the jump behind it.
            self._stubs += bytes((old[0] ^ 1, len(_INCREMENT) + len(_JUMP) + 4))
        self._count(CallKind.ITERATION, jump, function, target)
        self._jump(target)
        if old[0] != _SHORT_JUMP:
            self._jump(run[0].address + len(content))

    def entry(self, function: int, run: list[Moved]) -> None:
        self._patch(run[0].address, b"".join(one.content for one in run), PatchKind.JUMP)
        self._count(CallKind.ENTRY, run[0].address, function, -1)
        for one in run:
            self._move(one)
        self._jump(run[-1].address + len(run[-1].content))

    def plan(self, build_id: str, flags: PlanFlags) -> Plan:
        self._align()
        patches = np.array(self._patches, PATCH)
        return Plan(
            build_id,
            flags,
            patches[np.argsort(patches["at"], kind="stable")],
            np.array(self._fixes, np.uint32),
            np.array(self._increments, INCREMENT),
            bytes(self._stubs),
            np.array(self._sites, SITE),
        )

    def _align(self) -> None:
        self._stubs += _FILL * (-len(self._stubs) % _ALIGNMENT)

    def _patch(self, address: int, old: bytes, kind: PatchKind) -> None:
        self._align()
        self._patches.append((address, len(self._stubs), len(old), kind, old.ljust(OLD_BYTES, b"\0")))

    def _count(self, kind: CallKind, address: int, function: int, target: int) -> None:
        self._sites.append((address, self._counters, target, function, kind, NotCounted.COUNTED, 0))
        self._increments.append((len(self._stubs), self._counters))
        self._counters += 1
        self._stubs += _INCREMENT

    def _jump(self, target: int) -> None:
        self._stubs += _JUMP
        self._fixes.append(len(self._stubs))
        self._stubs += struct.pack("<i", target - len(self._stubs) - 4)

    def _move(self, one: Moved) -> None:
        start = len(self._stubs)
        self._stubs += one.placed_at(start)
        if one.near is not None:
            self._fixes.append(start + one.distance_at)
