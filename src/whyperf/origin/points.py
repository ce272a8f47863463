"""Where a run must be looked at to see the value that a definition makes, and how that is read from what was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyperf.collect.observation.sites import ObservedMemory as SiteMemory
from whyperf.collect.observation.sites import ObservedSite, Rows
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind, Input, MemoryOperand
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.values import UInt64s, masked


@dataclass(frozen=True)
class Point:
    """One instruction that is looked at."""

    path: Path
    address: int
    after: bool = False
    register: int | None = None
    memory: MemoryOperand | None = None
    is_entry: bool = False

    @property
    def key(self) -> tuple[Path, int]:
        return self.path, self.address

    def site(self, path: Path, address: int) -> ObservedSite:
        own = self.memory
        memory = None
        if own is not None:
            memory = SiteMemory(own.base, own.index, own.scale, own.displacement, min(own.size, 8))
        return ObservedSite(path, address, self.after, self.register, memory, self.is_entry)

    def joined(self, other: Point) -> Point:
        """One look that serves both, where there is one: the first comes first."""
        return replace(
            self,
            after=self.after or other.after,
            register=other.register if self.register is None else self.register,
            memory=other.memory if self.memory is None else self.memory,
            is_entry=self.is_entry or other.is_entry,
        )


def point_of(at: CodeAddress, slicer: Slicer, one: Definition) -> Point | None:
    """None where the value cannot be seen."""
    path = at.module.path
    if one.kind is DefinitionKind.ARGUMENT:
        return entry_point(path, slicer)
    instruction = slicer.function.at(one.address)
    if instruction is None:
        return None
    if one.kind is DefinitionKind.RETURNED:
        back = slicer.function.at(instruction.end)
        return Point(path, back.address) if instruction.step is FlowStep.CALL and back is not None else None
    general = one.target if isinstance(one.target, int) and 0 <= one.target < VECTOR else None
    stays = instruction.step is FlowStep.NEXT and (general is not None or one.kind is DefinitionKind.STORE)
    memory = one.memory if one.reads_memory or one.kind is DefinitionKind.STORE else None
    return Point(path, one.address, stays, general, memory)


def entry_point(path: Path, slicer: Slicer) -> Point:
    return Point(path, slicer.function.entry, is_entry=True)


def result_in(rows: Rows, one: Definition) -> UInt64s:
    """What a definition made, in the records of its point."""
    size = one.size
    if one.kind in (DefinitionKind.ARGUMENT, DefinitionKind.RETURNED):
        register = one.target if isinstance(one.target, int) and 0 <= one.target < VECTOR else None
        values = rows["hit"][:0] if register is None else rows["registers"][:, register]
    elif one.kind is DefinitionKind.STORE:
        values, size = rows["memory_after"], one.memory.size if one.memory is not None else 8
    elif isinstance(one.target, int) and 0 <= one.target < VECTOR:
        values = rows["after"]
    elif one.reads_memory and one.memory is not None:
        values, size = rows["memory"], one.memory.size
    else:
        values = rows["hit"][:0]
    return masked(np.ascontiguousarray(values), size)


def input_in(rows: Rows, wanted: Input) -> UInt64s:
    """What a register held before the instruction."""
    if not 0 <= wanted.location < VECTOR:
        return np.zeros(0, np.uint64)
    return masked(np.ascontiguousarray(rows["registers"][:, wanted.location]), wanted.size)


def content_in(rows: Rows, one: Definition) -> UInt64s:
    """What the memory held that a definition reads."""
    if one.memory is None:
        return np.zeros(0, np.uint64)
    return masked(np.ascontiguousarray(rows["memory"]), one.memory.size)
