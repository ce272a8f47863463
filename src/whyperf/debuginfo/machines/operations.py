"""What instructions do to registers, memory and flags, in the same words for every machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

VECTOR = 32
"""Where the numbers of vector registers begin; below are DWARF's numbers of general ones."""


@dataclass(frozen=True)
class Memory:
    registers: tuple[int, ...]
    """Base and index."""
    displacement: int
    by_instruction: bool
    """Counted from the next instruction's address."""


@dataclass(frozen=True)
class Immediate:
    value: int


Operand = int | Memory | Immediate | None
"""A register, memory, a number; None for anything else."""


class Does(Enum):
    COMPARE = 0
    COMPARE_TOO = 1
    """If an earlier comparison says so."""
    COPY = 2
    COMPUTE = 3
    TAKE_ADDRESS = 4
    CLEAR = 5
    SET_BY_FLAGS = 6
    CHOOSE = 7
    CHOOSE_COMPUTED = 8


@dataclass(frozen=True)
class Effect:
    does: Does
    target: Operand
    """None of comparisons."""
    sources: tuple[Operand, ...]


@dataclass(frozen=True)
class Operation:
    operands: tuple[Operand, ...]
    effects: tuple[Effect, ...] = ()
    """All of what was there before."""
    sets_flags: bool = False
    """By its result."""
    tested: tuple[Operand, ...] = ()
    """What a conditional jump compares itself."""
    grows: int = 0
    """Bytes by which the stack does; displacements count from where it ends then."""
    frame: int | None = None
    """How far above the stack's end the frame pointer is set."""
