"""Where a run must be looked at to see the value that a definition makes, and how that is read from what was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyperf.collect.observation.sites import ObservedMemory as SiteMemory
from whyperf.collect.observation.sites import ObservedSite, OpenFile, Rows
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind, Input, MemoryOperand
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.values import UInt64s, masked

FLOATS = (4, 8)  # bytes


@dataclass(frozen=True)
class Point:
    """One instruction that is looked at."""

    path: Path
    address: int
    after: bool = False
    register: int | None = None
    memory: MemoryOperand | None = None
    is_entry: bool = False
    vector: int | None = None
    """The vector register that is recorded before the instruction; general ones are all recorded."""
    file: OpenFile | None = None
    """Of a call: the file that it is given, whose path is recorded as well."""

    @property
    def key(self) -> tuple[Path, int]:
        return self.path, self.address

    def site(self, path: Path, address: int) -> ObservedSite:
        own = self.memory
        memory = None
        if own is not None:
            memory = SiteMemory(own.base, own.index, own.scale, own.displacement, min(own.size, 8))
        return ObservedSite(path, address, self.after, self.register, memory, self.is_entry, vector=self.vector)

    def site_of_file(self, path: Path, address: int) -> ObservedSite | None:
        """The second one at the same instruction."""
        return None if self.file is None else ObservedSite(path, address, file=self.file)

    def joined(self, other: Point) -> Point:
        """One look that serves both, where there is one: the first comes first."""
        return replace(
            self,
            after=self.after or other.after,
            register=other.register if self.register is None else self.register,
            memory=other.memory if self.memory is None else self.memory,
            is_entry=self.is_entry or other.is_entry,
            vector=other.vector if self.vector is None else self.vector,
            file=other.file if self.file is None else self.file,
        )


def point_of(at: CodeAddress, slicer: Slicer, one: Definition) -> Point | None:
    """None where the value cannot be seen."""
    path = at.module.path
    if one.kind is DefinitionKind.ARGUMENT:
        return replace(entry_point(path, slicer), vector=vector_made(one))
    instruction = slicer.function.at(one.address)
    if instruction is None:
        return None
    if one.kind is DefinitionKind.RETURNED:
        back = slicer.function.at(instruction.end)
        if instruction.step is not FlowStep.CALL or back is None:
            return None
        return Point(path, back.address, vector=vector_made(one))
    register = one.target if isinstance(one.target, int) and one.target >= 0 else None
    stays = instruction.step is FlowStep.NEXT and (register is not None or one.kind is DefinitionKind.STORE)
    memory = one.memory if one.reads_memory or one.kind is DefinitionKind.STORE else None
    vector = next((each.location for each in one.inputs if each.location >= VECTOR), None)
    return Point(path, one.address, stays, register, memory, vector=vector)


def vector_made(one: Definition) -> int | None:
    """The vector register that it puts a value into."""
    return one.target if isinstance(one.target, int) and one.target >= VECTOR else None


def holds_float(one: Definition) -> bool:
    """Whether it makes a number in a vector register, or stores one from there."""
    if one.kind is DefinitionKind.STORE:
        return one.size in FLOATS and any(each.location >= VECTOR for each in one.inputs)
    return one.size in FLOATS and vector_made(one) is not None


def is_recorded(known: Point | None, one: Definition) -> bool:
    """Whether a look shows what a definition makes: records have one vector register of before, and one of after."""
    vector = vector_made(one)
    if vector is None or one.kind is DefinitionKind.LOAD:
        return True
    is_before = one.kind in (DefinitionKind.ARGUMENT, DefinitionKind.RETURNED)
    return known is not None and vector == (known.vector if is_before else known.register)


def entry_point(path: Path, slicer: Slicer) -> Point:
    return Point(path, slicer.function.entry, is_entry=True)


def result_in(rows: Rows, one: Definition) -> UInt64s:
    """What a definition made, in the records of its point."""
    size = one.size
    if one.kind in (DefinitionKind.ARGUMENT, DefinitionKind.RETURNED):
        if vector_made(one) is not None:
            values = rows["vector"]
        else:
            values = rows["registers"][:, one.target] if isinstance(one.target, int) else rows["hit"][:0]
    elif one.kind is DefinitionKind.STORE:
        values, size = rows["memory_after"], one.memory.size if one.memory is not None else 8
    elif one.kind is DefinitionKind.LOAD and one.memory is not None and vector_made(one) is not None:
        values, size = rows["memory"], one.memory.size
    elif isinstance(one.target, int) and one.target >= 0:
        values = rows["after"]
    elif one.reads_memory and one.memory is not None:
        values, size = rows["memory"], one.memory.size
    else:
        values = rows["hit"][:0]
    return masked(np.ascontiguousarray(values), size)


def input_in(rows: Rows, wanted: Input) -> UInt64s:
    """What a register held before the instruction; of vector registers the one that was recorded."""
    if wanted.location >= VECTOR:
        return masked(np.ascontiguousarray(rows["vector"]), wanted.size)
    if wanted.location < 0:
        return np.zeros(0, np.uint64)
    return masked(np.ascontiguousarray(rows["registers"][:, wanted.location]), wanted.size)


def content_in(rows: Rows, one: Definition) -> UInt64s:
    """What the memory held that a definition reads."""
    if one.memory is None:
        return np.zeros(0, np.uint64)
    return masked(np.ascontiguousarray(rows["memory"]), one.memory.size)
