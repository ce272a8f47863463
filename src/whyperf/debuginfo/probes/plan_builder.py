"""The code that replaced instructions lead to: it counts, does what they did, and goes on where they did.

Distances are as if the stubs began at the module's address 0. Whoever places them elsewhere corrects those in `fixes`
by how far that is.
"""

from __future__ import annotations

import numpy as np

from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.probes.plan_file import INCREMENT, OLD_BYTES, PATCH, SITE, PatchKind, PatchPlan, PlanFlags
from whyperf.recording.schemas.call_tables import CallKind, NotCounted

_ALIGNMENT = 16


class PlanBuilder:
    """What every machine's stubs have in common."""

    def __init__(self, machine: Machine, fill: bytes, increment_bytes: int) -> None:
        self._machine, self._fill, self._increment_bytes = machine, fill, increment_bytes
        self._stubs = bytearray()
        self._fixes: list[int] = []
        self._increments: list[tuple[int, int]] = []
        self._patches: list[tuple[int, int, int, int, bytes]] = []
        self._sites: list[tuple[int, int, int, int, int, int, int]] = []
        self._counters = 0

    def left_alone(self, kind: CallKind, address: int, function: int, target: int, reason: NotCounted) -> None:
        self._sites.append((address, -1, target, function, kind, reason, 0))

    def plan(self, build_id: str, flags: PlanFlags) -> PatchPlan:
        self._align()
        patches = np.array(self._patches, PATCH)
        return PatchPlan(
            build_id,
            self._machine.elf_number,
            flags,
            patches[np.argsort(patches["at"], kind="stable")],
            np.array(self._fixes, np.uint32),
            np.array(self._increments, INCREMENT),
            bytes(self._stubs),
            np.array(self._sites, SITE),
        )

    def plan_of_slots(self, build_id: str) -> PatchPlan:
        """Where increments are slots: numbers that the target fills in; each has the room of an increment."""
        self._stubs += bytes(self._increment_bytes)
        self._increments.sort()
        return self.plan(build_id, PlanFlags.NONE)

    def _align(self) -> None:
        self._stubs += self._fill * (-len(self._stubs) % _ALIGNMENT // len(self._fill))

    def _patch(self, address: int, old: bytes, kind: PatchKind) -> None:
        self._align()
        self._patches.append((address, len(self._stubs), len(old), kind, old.ljust(OLD_BYTES, b"\0")))

    def _is_taken(self, low: int, high: int) -> bool:
        return any(address < high and low < address + size for address, _, size, _, _ in self._patches)

    def _slot(self, number: int) -> None:
        self._increments.append((len(self._stubs), number))

    def _count(self, kind: CallKind, address: int, function: int, target: int, increment: bytes) -> None:
        """`increment` is written by the target, which knows where its counters are."""
        self._sites.append((address, self._counters, target, function, kind, NotCounted.COUNTED, 0))
        self._slot(self._counters)
        self._counters += 1
        self._stubs += increment
