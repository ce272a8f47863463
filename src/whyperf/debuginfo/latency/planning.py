"""Plans how calls of a file's function are timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.latency.aarch64 import ArmLatencyStubs
from whyperf.debuginfo.latency.exits import Exits
from whyperf.debuginfo.latency.stubs import LatencyStubs
from whyperf.debuginfo.latency.x86_64 import IntelLatencyStubs
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import PatchPlan

_STUBS: Mapping[Machine, Callable[[ElfFile, Image], LatencyStubs]] = {
    AARCH64: ArmLatencyStubs,
    X86_64: IntelLatencyStubs,
}
_ADDRESS_END = 1 << 31


@dataclass(frozen=True)
class TimedFunction:
    name: str
    plan: PatchPlan
    onward: int
    """Exits that lead into functions whose own exits are not known."""


def plan_latency(binary: Binary, name: str, entries: list[int]) -> TimedFunction:
    """All copies of the function, or none: NotPatched says why."""
    elf, machine = binary.elf, binary.machine
    if elf is None or machine is None or machine not in _STUBS:
        raise NotPatched("is in a file whose code is not understood")
    if not elf.build_id:
        raise NotPatched("is in a file without a build-id: link it with -Wl,--build-id")
    image = Image(elf)
    stubs = _STUBS[machine](elf, image)
    exits = [Exits(machine, elf, image, stubs.functions, entry) for entry in entries]
    if any(entry >= _ADDRESS_END for entry in entries):
        raise NotPatched("lies too far from the file's beginning")
    for entry in entries:
        stubs.begin(entry)
    for _, one in sorted({one.address: one for each in exits for one in each.instructions}.items()):
        stubs.end(one)
    onward = {address for each in exits for address in each.onward}
    return TimedFunction(name, stubs.plan_of_slots(elf.build_id), len(onward))
