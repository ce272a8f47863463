"""The instructions that end a basic block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whyperf.debuginfo.machines.machine import FlowStep, Machine, Row


@dataclass(frozen=True)
class Branching:
    """A jump, a call or the end of a path."""

    start: int
    end: int
    """The address after it."""
    target: int | None
    """None for indirect ones and for returns."""
    is_call: bool
    is_jump: bool
    goes_on: bool
    """What follows it may run next, as far as the instruction itself tells."""


def branching_instructions(machine: Machine, content: bytes, address: int) -> Iterator[Branching]:
    """In order; bytes that are no instructions are passed over."""
    for row in machine.rows(content, address):
        branching = branching_of(machine, row)
        if branching is not None:
            yield branching


def branching_of(machine: Machine, row: Row) -> Branching | None:
    """None for an instruction after which the next one runs."""
    start, size, mnemonic, operands = row
    step = machine.step(mnemonic)
    if step is FlowStep.NEXT:
        return None
    return Branching(
        start,
        start + size,
        None if step is FlowStep.STOP else machine.direct_target(operands),
        is_call=step is FlowStep.CALL,
        is_jump=step in (FlowStep.JUMP, FlowStep.BRANCH),
        goes_on=step in (FlowStep.CALL, FlowStep.BRANCH),
    )
