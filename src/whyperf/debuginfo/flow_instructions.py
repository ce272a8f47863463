"""A function's instructions, as far as the flow of control goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from whyperf.debuginfo.instructions import (
    direct_target,
    instructions,
    is_call,
    is_jump,
    is_stop,
    is_trap,
    relative_target,
)
from whyperf.debuginfo.memory_use import memory_use
from whyperf.recording.deep_tables import MemoryUse

_INDEXED = re.compile(r"\[(?:\w+ \+ )?\w+\*([48])(?: \+ (0x[0-9a-f]+))?\]")
_UNCONDITIONAL = frozenset({"jmp", "ljmp"})
_BY_STACK = frozenset({"push", "pop", "call", "ret", "leave", "enter", "pushfq", "popfq"})


class Step(Enum):
    """How the flow goes on."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    CALL = 3
    STOP = 4


class Instruction(NamedTuple):
    address: int
    size: int
    step: Step
    target: int | None
    """Of direct jumps and calls."""
    slot: int | None
    """Where a call or jump through memory at a fixed address finds its target, or what a `lea` points to."""
    scale: int
    """4 or 8 if a table is indexed by it, else 0."""
    table: int | None
    """Of tables at a fixed address."""
    memory: MemoryUse
    """Through the stack also where that is by a frame pointer."""

    trap: bool
    """Stops the program rather than return."""

    @property
    def end(self) -> int:
        return self.address + self.size


def decode(content: bytes, low: int) -> Iterator[Instruction]:
    frame = False
    for start, size, mnemonic, operands in instructions(content, low):
        target = slot = table = None
        scale = 0
        step = Step.NEXT
        if is_call(mnemonic):
            step, target = Step.CALL, direct_target(operands)
        elif is_jump(mnemonic):
            step = Step.JUMP if mnemonic in _UNCONDITIONAL else Step.BRANCH
            target = direct_target(operands)
        elif is_stop(mnemonic):
            step = Step.STOP
        if "[" in operands:
            slot = relative_target(operands, start + size)
            if slot is None and (indexed := _INDEXED.search(operands)):
                scale, table = int(indexed[1]), int(indexed[2], 0) if indexed[2] else None
        frame = frame or (mnemonic == "mov" and operands == "rbp, rsp")
        memory = memory_use(mnemonic, operands)
        if memory and (mnemonic in _BY_STACK or "[rsp" in operands or (frame and "[rbp" in operands)):
            memory |= MemoryUse.STACK
        yield Instruction(start, size, step, target, slot, scale, table, memory, is_trap(mnemonic))
