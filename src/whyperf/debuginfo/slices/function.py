"""One out-of-line function: its instructions, which follow which, and how deep the stack is at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.debuginfo.control_flow.decisions import control_dependences
from whyperf.debuginfo.control_flow.function_flow import Flow
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.machines.machine import FlowStep, Registers
from whyperf.debuginfo.machines.operations import Does, Memory, Operand, Operation
from whyperf.debuginfo.slices.definitions import FLAGS, MemoryOperand, StackSlot


@dataclass(frozen=True, eq=False)
class SlicedInstruction:
    address: int
    size: int
    mnemonic: str
    text: str
    step: FlowStep
    returns: bool
    target: int | None
    """Of a direct jump or call."""
    slot: int | None
    """Of a jump or call through memory at a fixed address: where its target is found."""
    operation: Operation

    @property
    def end(self) -> int:
        return self.address + self.size


class SlicedFunction:
    """Instructions are counted as `Flow` does."""

    def __init__(self, machine: Machine, flow: Flow, code: Sequence[SlicedInstruction]) -> None:
        self.machine, self.flow, self.code = machine, flow, code
        self.entry = flow.entry
        self.row = {one.address: row for row, one in enumerate(code)}
        self._ends = {one.end: row for row, one in enumerate(code)}
        self._changed: dict[int, frozenset[int]] = {}

    @property
    def registers(self) -> Registers:
        return self.machine.registers

    def at(self, address: int) -> SlicedInstruction | None:
        row = self.row.get(address)
        return None if row is None else self.code[row]

    def ending_at(self, address: int) -> SlicedInstruction | None:
        """The instruction behind which an address lies: the call that returns there."""
        row = self._ends.get(address)
        return None if row is None else self.code[row]

    def before(self, row: int) -> Sequence[int]:
        """Rows from which the flow comes to one."""
        block = int(self.flow.block[row])
        if row != int(self.flow.first[block]):
            return (row - 1,)
        return self._last_before[block]

    def block(self, address: int) -> int:
        return int(self.flow.block[self.row[address]])

    def last_of(self, block: int) -> SlicedInstruction:
        return self.code[int(self.flow.instructions(block).stop) - 1]

    def changed_in(self, block: int) -> frozenset[int]:
        """Registers, and FLAGS, that instructions of a block change or may change."""
        if block not in self._changed:
            found: set[int] = set()
            rows = self.flow.instructions(block)
            for one in self.code[rows]:
                found |= {effect.target for effect in one.operation.effects if isinstance(effect.target, int)}
                compares = any(effect.target is None for effect in one.operation.effects)
                if one.operation.sets_flags or compares or one.step is not FlowStep.NEXT:
                    found.add(FLAGS)
                if one.step is FlowStep.CALL:
                    found |= self.registers.lost_in_calls
            self._changed[block] = frozenset(found)
        return self._changed[block]

    @cached_property
    def _last_before(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.flow.successors]
        for block, following in enumerate(self.flow.successors):
            last = self.flow.instructions(block).stop - 1
            for to in following:
                found[to].append(last)
        return found

    @cached_property
    def depends(self) -> list[set[int]]:
        """Of each block the blocks whose branches decide whether it runs; ways into the program's end do not count."""
        flow = self.flow
        ways = [[to for to in following if to not in flow.doomed] for following in flow.successors]
        return control_dependences(ways, flow.leaves)

    @cached_property
    def depth(self) -> list[int | None]:
        """By row: bytes between the stack's end before the instruction and the CFA; None where that is not known."""
        found: list[int | None] = [None] * len(self.code)
        first = self.row[self.entry]
        work = [(int(self.flow.block[first]), self.registers.depth_at_entry)]
        done: set[int] = set()
        while work:
            block, depth = work.pop()
            if block in done:
                continue
            done.add(block)
            rows = self.flow.instructions(block)
            for row in range(rows.start, rows.stop):
                found[row] = depth
                depth = self._depth_after(self.code[row].operation, depth)
            work += ((to, depth) for to in self.flow.successors[block])
        return found

    def _depth_after(self, operation: Operation, depth: int) -> int:
        if operation.unwinds is not None and self.frame_depth is not None:
            return self.frame_depth - operation.unwinds
        return depth + operation.grows

    @cached_property
    def frame_depth(self) -> int | None:
        """How far below the CFA the frame pointer is; None where there is none. In the order of addresses."""
        depth, usual = self.registers.depth_at_entry, self.registers.depth_of_frame
        for one in self.code:
            depth += one.operation.grows
            if one.operation.frame is not None:
                frame = depth - one.operation.frame
                return frame if usual in (None, frame) else None
            if one.returns:
                return None
        return None

    def slot(self, row: int, memory: Operand) -> StackSlot | None:
        """Which place on the stack a memory operand of an instruction is; None: another place, or one by an index."""
        if not isinstance(memory, Memory) or len(memory.registers) != 1 or memory.scale != 1:
            return None
        base, depth = memory.registers[0], self.depth[row]
        if base == self.registers.stack and depth is not None:
            after = depth + self.code[row].operation.grows
            return StackSlot(memory.displacement - after, memory.size)
        if base == self.registers.frame and self.frame_depth is not None:
            return StackSlot(memory.displacement - self.frame_depth, memory.size)
        return None

    @cached_property
    def taken(self) -> list[int]:
        """Offsets from the CFA whose addresses are taken: what is there may be changed by others. Sorted."""
        found: set[int] = set()
        for row, one in enumerate(self.code):
            for effect in one.operation.effects:
                for source in (*effect.sources, effect.target):
                    found |= self._taken_by(row, effect.does, source, effect.target)
        return sorted(found)

    def _taken_by(self, row: int, does: Does, operand: Operand, target: Operand) -> set[int]:
        frame, stack = self.registers.frame, self.registers.stack
        depth = self.depth[row]
        if operand == stack and does is Does.COPY and target not in (frame, stack) and depth is not None:
            return {-depth}
        if not isinstance(operand, Memory) or target in (frame, stack):
            return set()
        if does is Does.TAKE_ADDRESS or len(operand.registers) > 1:
            alone = Memory(operand.registers[:1], operand.displacement, False)
            slot = self.slot(row, alone)
            return {slot.offset} if slot is not None else set()
        return set()

    def is_shared(self, slot: StackSlot) -> bool:
        """Whether others may know its address."""
        return bool(self.taken) and self.taken[0] <= slot.offset

    def operand(self, row: int, memory: Memory) -> MemoryOperand | None:
        """As it is when the instruction begins; None where it cannot be told."""
        one = self.code[row]
        if memory.by_instruction:
            return MemoryOperand(None, None, 1, one.end + memory.displacement, memory.size)
        if -1 in memory.registers or len(memory.registers) > 2:
            return None
        displacement = memory.displacement
        if memory.registers[:1] == (self.registers.stack,):
            displacement -= one.operation.grows
        if not memory.registers:
            return MemoryOperand(None, None, 1, displacement, memory.size)
        if len(memory.registers) == 1 and memory.scale != 1:
            return MemoryOperand(None, memory.registers[0], memory.scale, displacement, memory.size)
        index = memory.registers[1] if len(memory.registers) == 2 else None
        return MemoryOperand(memory.registers[0], index, memory.scale, displacement, memory.size)


def function_of(machine: Machine, flow: Flow, image: Image) -> SlicedFunction:
    code: list[SlicedInstruction] = []
    start = 0
    breaks = np.flatnonzero(flow.address[1:] != flow.address[:-1] + flow.size[:-1].astype(np.uint64)) + 1
    for stop in (*breaks.tolist(), len(flow.address)):
        low = int(flow.address[start])
        high = int(flow.address[stop - 1]) + int(flow.size[stop - 1])
        known = set(flow.address[start:stop].tolist())
        content = image.read(low, high - low)
        code += (one for one in _decoded(machine, content, low) if one.address in known)
        start = stop
    return SlicedFunction(machine, flow, code)


def _decoded(machine: Machine, content: bytes, low: int) -> list[SlicedInstruction]:
    found = []
    for start, size, mnemonic, operands in machine.decoded(content, low).rows:
        step, end = machine.step(mnemonic), start + size
        leads = step not in (FlowStep.NEXT, FlowStep.STOP)
        found.append(
            SlicedInstruction(
                start,
                size,
                mnemonic,
                f"{mnemonic} {operands}".strip(),
                step,
                step is FlowStep.STOP and not machine.is_trap(mnemonic),
                machine.direct_target(operands) if leads else None,
                machine.fixed_address(operands, end) if leads and "[" in operands else None,
                machine.operation(mnemonic, operands, end),
            )
        )
    return found
