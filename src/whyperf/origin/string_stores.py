"""Instructions that copy memory to memory, or fill it: `rep movs`, `rep stos`, `push` and `pop` of x86-64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.machines.operations import Memory
from whyperf.debuginfo.slices.definitions import Definition, MemoryOperand
from whyperf.debuginfo.slices.function import SlicedFunction
from whyperf.origin.points import Point
from whyperf.origin.program_code import BuildSide
from whyperf.origin.questions import CodeHere, Read, Writer

_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class StringStore:
    """By their registers."""

    to: int
    source: int | None
    """None: it fills memory with the same number."""
    source_at: int
    """How far from that register the source begins, when the instruction begins."""
    apart: int
    """How far the source is from the destination where both registers are equal, when the instruction has ended."""
    count: int | None
    """None: it runs once."""
    size: int
    """Bytes that one step writes."""


def string_store(function: SlicedFunction, address: int) -> StringStore | None:
    one = function.at(address)
    effect = next(iter(one.operation.effects), None) if one is not None else None
    if one is None or effect is None or not isinstance(effect.target, Memory) or not _has_base_alone(effect.target):
        return None
    to, repeats, size = effect.target.registers[0], one.operation.repeats, effect.target.size
    source = next((each for each in effect.sources if isinstance(each, Memory) and each != effect.target), None)
    at_first = None if source is None else function.operand(function.row[address], source)
    if source is None or at_first is None or not _has_base_alone(source):
        return None if repeats is None else StringStore(to, None, 0, 0, repeats, size)
    apart = source.displacement - effect.target.displacement
    return StringStore(to, source.registers[0], at_first.displacement, apart, repeats, size)


def _has_base_alone(memory: Memory) -> bool:
    return len(memory.registers) == 1 and memory.scale == 1


def is_in_the_middle(function: SlicedFunction, address: int, registers: npt.NDArray[np.uint64], written: int) -> bool:
    """Whether the instruction at which a watch stopped is the one that wrote: it stops between two steps of it, too,
    where the next address to be written lies behind. The instruction before it writes elsewhere."""
    string = string_store(function, address)
    if string is None or string.count is None or int(registers[string.to]) <= written:
        return False
    before = function.ending_at(address)
    if before is None:
        return True
    targets = (each.target for each in before.operation.effects)
    operands = (function.operand(function.row[before.address], each) for each in targets if isinstance(each, Memory))
    return not any(
        0 <= written - _address(each, registers) < max(each.size, 1)
        for each in operands
        if each is not None and each.base is not None
    )


def _address(operand: MemoryOperand, registers: npt.NDArray[np.uint64]) -> int:
    base = 0 if operand.base is None else int(registers[operand.base])
    index = 0 if operand.index is None else int(registers[operand.index]) * operand.scale
    return (base + index + operand.displacement) & _WORD


def copied_by_string(
    read: Read, here: CodeHere, store: Definition, writers: tuple[Writer | None, Writer | None]
) -> Read | None:
    """Where what it copied lay: source and destination step along together, so that wherever the watch stopped they are
    as far apart as at first. None: it copies nothing."""
    string = string_store(here.slicer.function, store.address)
    if string is None or string.source is None:
        return None
    source, count, step = string.source, string.count, np.uint64(string.size)
    source_at = np.uint64(string.source_at & _WORD)

    def source_of(writer: Writer | None) -> int | None:
        if writer is None or writer.at.key != (here.module.path, store.address):
            return None
        distance = int(writer.registers[source]) - int(writer.registers[string.to]) + string.apart
        return (writer.address + distance) & _WORD

    def selects(rows: Rows, wanted: int) -> npt.NDArray[np.bool_]:
        first = rows["registers"][:, source] + source_at
        length = step if count is None else rows["registers"][:, count] * step
        return np.asarray((first <= wanted) & (wanted < first + length))

    addresses = (source_of(writers[BuildSide.GOOD]), source_of(writers[BuildSide.BAD]))
    reader = Point(here.module.path, store.address)
    return Read(here, reader, addresses, read.size, selects, read.compared, read.name, None)
