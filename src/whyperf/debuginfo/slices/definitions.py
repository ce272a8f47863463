"""What a slice is made of: places that hold values, and the instructions that put them there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

FLAGS = -1
"""In place of a register's number."""


@dataclass(frozen=True)
class StackSlot:
    """A place on the stack of one activation."""

    offset: int
    """From the CFA."""
    size: int


Location = int | StackSlot
"""A register by its number, vector registers from `VECTOR` on; FLAGS; or a place on the stack."""


@dataclass(frozen=True)
class MemoryOperand:
    base: int | None
    """A register; None: `displacement` is an address of the ELF file."""
    index: int | None
    scale: int
    displacement: int
    size: int

    @property
    def registers(self) -> tuple[int, ...]:
        """The index first."""
        return tuple(one for one in (self.index, self.base) if one is not None)


class DefinitionKind(Enum):
    CONSTANT = "constant"
    LOAD = "load"
    COMPUTE = "compute"
    SELECT = "select"
    """One of its inputs, by the flags."""
    RETURNED = "returned"
    """By a call."""
    ARGUMENT = "argument"
    STORE = "store"
    TEST = "test"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Input:
    """A register that an instruction reads, or FLAGS."""

    location: int
    size: int


@dataclass(frozen=True)
class Definition:
    """One instruction that makes a value, or (TEST) compares some."""

    address: int
    """Of arguments the function's entry."""
    kind: DefinitionKind
    target: Location | None
    """Where the value is afterwards; None: in memory, or in the flags."""
    size: int
    inputs: tuple[Input, ...] = ()
    """Without those that only make an address."""
    memory: MemoryOperand | None = None
    """What it reads, or of stores what it writes."""
    reads_memory: bool = False
    """The content of `memory` is an input too."""
    joins: bool = False
    """Of two, the lower half of a vector register first; what it reads from memory is the upper one."""

    @property
    def of_address(self) -> tuple[int, ...]:
        """Registers that the address of what it reads is made of."""
        return self.memory.registers if self.memory is not None else ()

    @property
    def reads_flags(self) -> bool:
        return any(one.location == FLAGS for one in self.inputs)
