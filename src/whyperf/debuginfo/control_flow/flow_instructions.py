"""A function's instructions, as far as the flow of control goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whyperf.debuginfo.machines.machine import FlowStep, Machine, TableJump
from whyperf.recording.schemas.deep_tables import MemoryUse

__all__ = ["FlowInstruction", "FlowStep", "decode"]


class FlowInstruction(NamedTuple):
    address: int
    size: int
    step: FlowStep
    target: int | None
    """Of direct jumps and calls."""
    slot: int | None
    """Where a call or jump through memory at a fixed address finds its target, or what an address that is taken is."""
    scale: int
    """4 or 8 if a table is indexed by it, else 0."""
    table: int | None
    """Of tables at a fixed address."""
    jump: TableJump | None
    """The table that is jumped through, where the machine's description knows."""
    memory: MemoryUse
    """Through the stack also where that is by a frame pointer."""

    trap: bool
    """Stops the program rather than return."""

    @property
    def end(self) -> int:
        return self.address + self.size


def decode(machine: Machine, content: bytes, low: int) -> Iterator[FlowInstruction]:
    frame = False
    decoded = machine.decoded(content, low)
    for start, size, mnemonic, operands in decoded.rows:
        target = slot = table = None
        scale = 0
        step = machine.step(mnemonic)
        if step not in (FlowStep.NEXT, FlowStep.STOP):
            target = machine.direct_target(operands)
        if "[" in operands:
            slot = machine.fixed_address(operands, start + size)
            if slot is None and (indexed := machine.indexed(operands)):
                scale, table = indexed
        frame = frame or machine.sets_frame(mnemonic, operands)
        memory = machine.memory_use(mnemonic, operands)
        if memory and machine.uses_stack(mnemonic, operands, frame):
            memory |= MemoryUse.STACK
        jump = decoded.table_jumps.get(start)
        yield FlowInstruction(start, size, step, target, slot, scale, table, jump, memory, machine.is_trap(mnemonic))
