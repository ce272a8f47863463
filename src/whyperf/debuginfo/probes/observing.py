"""Plans how single instructions of a binary are observed, and values forced there.

At a place there is a trap, whose handler goes on in a stub: the instruction's moved copy, where its result is asked for
a second trap, and a jump back. Or a jump to a stub that loads or spreads a number, at places that run too
often for traps. Or a conditional jump is rewritten where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine, machine_of
from whyperf.debuginfo.probes.aarch64 import observing as aarch64
from whyperf.debuginfo.probes.observed_places import (
    DecidedJump,
    LoadedNumber,
    NotPlaced,
    ObservingStubs,
    SpreadNumber,
    Wanted,
)
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.probes.x86_64 import observing as x86_64

_STUB_BYTES = 1 << 16
"""A multiple of it, whatever is planned: memory that the program takes then lies where it does with other places."""
_ADDRESS_END = 1 << 31

_STUBS: dict[Machine, Callable[[ElfFile, Image], ObservingStubs]] = {
    AARCH64: aarch64.ArmObservingStubs,
    X86_64: x86_64.IntelObservingStubs,
}


@dataclass(frozen=True)
class PlacedSite:
    patch: int
    """Row of the plan."""
    after: int | None
    """Where in the stubs the second trap is."""


@dataclass(frozen=True)
class PlannedPlaces:
    plan: PatchPlan | None
    """None: there is no place."""
    placed: dict[int, PlacedSite] = field(default_factory=dict)
    """By address."""
    refused: dict[int, str] = field(default_factory=dict)
    """Why not, in words."""


def plan_places(elf: ElfFile, wanted: Sequence[Wanted]) -> PlannedPlaces:
    """At most one for each address."""
    machine = machine_of(elf)
    if machine not in _STUBS:
        return _none(wanted, "the file holds code of another machine")
    if not elf.build_id:
        return _none(wanted, "the file has no build-id")
    stubs = _STUBS[machine](elf, Image(elf))
    after: dict[int, int | None] = {}
    refused: dict[int, str] = {}
    # What takes more room than its own instruction goes first: the others can be told that they are within.
    for one in sorted(wanted, key=lambda one: (one.loaded is None, one.address)):
        try:
            if not 0 <= one.address < _ADDRESS_END:
                raise NotPlaced("its address is too large")
            after[one.address] = stubs.put(one)
        except NotPlaced as why:
            refused[one.address] = str(why)
    if not after:
        return PlannedPlaces(None, {}, refused)
    plan = stubs.finished(elf.build_id, _STUB_BYTES)
    rows = {int(at): row for row, at in enumerate(plan.patches["at"].tolist())}
    return PlannedPlaces(plan, {at: PlacedSite(rows[at], behind) for at, behind in after.items()}, refused)


def _none(wanted: Sequence[Wanted], why: str) -> PlannedPlaces:
    return PlannedPlaces(None, {}, {one.address: why for one in wanted})


__all__ = ["DecidedJump", "LoadedNumber", "PlacedSite", "PlannedPlaces", "SpreadNumber", "Wanted", "plan_places"]
