"""Plans how the calls of a file's allocators are sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from whyperf.allocators.functions import Allocator, AllocatorFunction
from whyperf.debuginfo.allocators.aarch64 import ArmAllocatorStubs
from whyperf.debuginfo.allocators.parameters import NotSampled, arguments_of
from whyperf.debuginfo.allocators.stubs import AllocatorStubs
from whyperf.debuginfo.allocators.x86_64 import IntelAllocatorStubs
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.elf_files.named_symbols import function_symbols
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import AARCH64, X86_64, Machine, machine_of
from whyperf.debuginfo.probes.not_patched import NotPatched
from whyperf.debuginfo.probes.plan_file import PatchPlan
from whyperf.debuginfo.transplants.layouts import Layouts, read_layouts

_STUBS: Mapping[Machine, Callable[[ElfFile, Image], AllocatorStubs]] = {
    AARCH64: ArmAllocatorStubs,
    X86_64: IntelAllocatorStubs,
}
_ADDRESS_END = 1 << 31


@dataclass(frozen=True)
class PlannedAllocators:
    plan: PatchPlan | None = None
    """None: nothing of the file is sampled by it."""
    sampled: tuple[str, ...] = ()
    """Functions that allocate, by the names that recordings show."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Functions that the file has, and why their calls are not sampled."""


@dataclass(frozen=True)
class _Found:
    function: AllocatorFunction
    address: int
    allocator: int
    """From 1 on where it can be reset; else 0."""


def plan_allocators(path: Path, allocators: Sequence[Allocator]) -> PlannedAllocators:
    found = list(_found(path, allocators))
    elf = read_elf(path) if found else None
    machine = machine_of(elf) if elf is not None else None
    if elf is None or machine not in _STUBS or machine is None:
        return PlannedAllocators()
    if not elf.build_id:
        return PlannedAllocators(refused={one.function.name: "is in a file without a build-id" for one in found})
    unknown = sorted({one.address for one in found if one.function.arguments is None})
    layouts = read_layouts(path, unknown) if unknown else {}
    stubs = _STUBS[machine](elf, Image(elf))
    sampled, refused = _put(stubs, found, layouts, machine)
    plan = stubs.plan_of_slots(elf.build_id) if sampled else None
    return PlannedAllocators(plan, tuple(_shown(path, sampled)), refused)


def _shown(path: Path, addresses: Sequence[int]) -> Iterator[str]:
    binary = describe(str(path))
    places = binary.resolve(addresses)
    for start, end in pairwise(places.start.tolist()):
        if end > start:
            yield binary.functions.names[int(places.function[end - 1])]


def _found(path: Path, allocators: Sequence[Allocator]) -> Iterator[_Found]:
    """Functions that the file defines, each once: many have several names."""
    functions = {
        function.name: (function, number if allocator.can_be_reset else 0)
        for number, allocator in enumerate(allocators, 1)
        for function in allocator.functions
    }
    symbols = function_symbols(path, frozenset(functions))
    by_address = {symbol.address: symbol.name for symbol in symbols if symbol.size}
    for address, name in sorted(by_address.items()):
        function, number = functions[name]
        yield _Found(function, address, number)


def _put(
    stubs: AllocatorStubs, found: Sequence[_Found], layouts: Mapping[int, Layouts], machine: Machine
) -> tuple[list[int], dict[str, str]]:
    sampled: list[int] = []
    refused: dict[str, str] = {}
    for one in found:
        name = one.function.name
        try:
            if one.address >= _ADDRESS_END:
                raise NotSampled("lies too far from the file's beginning")
            arguments = arguments_of(one.function, layouts.get(one.address), machine, bool(one.allocator))
            stubs.put(one.address, one.function.role, arguments, one.allocator)
            sampled += [one.address] if one.function.role.allocates else []
        except NotPatched as why:
            refused[name] = str(why)
    return sampled, refused
