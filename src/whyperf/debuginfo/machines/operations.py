"""What instructions do to registers, memory and flags, in the same words for every machine."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    scale: int = field(default=1, compare=False)
    """Of the last register; other than 1 it is an index even where it is the only one."""
    size: int = field(default=0, compare=False)
    """Bytes that are read or written; 0: unknown, or only the address counts."""


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
    JOIN = 9
    """Of two: the lower half of a vector register is the first, the upper one the second."""


@dataclass(frozen=True)
class Effect:
    does: Does
    target: Operand
    """None of comparisons."""
    sources: tuple[Operand, ...]
    size: int = field(default=0, compare=False)
    """Bytes of a register that get a value; 0: as many as the operand has."""


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
    unwinds: int | None = None
    """How far above the frame pointer the stack's end is set."""
    sizes: tuple[int, ...] = field(default=(), compare=False)
    """Bytes of each operand that is a register; 0 for others."""
    repeats: int | None = None
    """The register that counts how often an instruction still runs, which steps along memory."""
