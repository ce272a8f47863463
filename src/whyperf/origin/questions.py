"""What is asked next on the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect.observation.sites import Rows
from whyperf.debuginfo.slices.definitions import Definition, Location, MemoryOperand
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.diagnose.origin import ChainEnd
from whyperf.origin.points import Point
from whyperf.origin.program_code import CodeAddress
from whyperf.origin.values import ComparedValues

_WORD = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class CodeHere:
    """A function in which values are followed."""

    module: ModuleCode
    slicer: Slicer

    def at(self, address: int) -> CodeAddress:
        return CodeAddress(self.module, address)

    @property
    def entry(self) -> CodeAddress:
        return self.at(self.slicer.function.entry)


@dataclass(frozen=True)
class Stop:
    end: ChainEnd
    sentence: str


@dataclass(frozen=True)
class Undecided(Stop):
    """No condition that leads there differs, and the function is called as often, as far as that is known."""


@dataclass(frozen=True)
class WriterUnknown(Stop):
    """Nobody was seen who wrote what is read."""


@dataclass(frozen=True, eq=False)
class Ask:
    """What made the value that a place holds just before an instruction?"""

    at: CodeAddress
    location: Location
    compared: ComparedValues
    """What it holds there."""


@dataclass(frozen=True, eq=False)
class AskControl:
    """What decides that an instruction runs, or how often?"""

    here: CodeHere
    address: int
    otherwise: Stop
    """What was asked about: why the way ends if nothing decides."""


@dataclass(frozen=True, eq=False)
class AskMemory:
    """Who wrote what a definition reads from memory?"""

    here: CodeHere
    definition: Definition


@dataclass(frozen=True, eq=False)
class Read:
    """A place in memory that is read. Who wrote it?"""

    here: CodeHere
    reader: Point
    addresses: tuple[int | None, int | None]
    """Of the running programs, good and bad; None: unknown."""
    size: int
    selects: Callable[[Rows, int], npt.NDArray[np.bool_]]
    """The records of the reader with which an address was read."""
    compared: ComparedValues
    name: str
    definition: Definition | None
    """That reads it; None: a call copies it."""
    elsewhere: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Further addresses that the reader reads in good and in bad runs: who writes there?"""


Next = Ask | AskControl | AskMemory | Read | Stop


@dataclass(frozen=True, eq=False)
class Writer:
    at: CodeAddress
    registers: npt.NDArray[np.uint64]
    address: int
    """That was written to, in the running program."""
    bias: int
    """Of its module."""

    def address_of(self, memory: MemoryOperand) -> int:
        """Where a memory operand is, by the registers that the writer had."""
        base = self.bias if memory.base is None else int(self.registers[memory.base])
        index = 0 if memory.index is None else int(self.registers[memory.index]) * memory.scale
        return (base + index + memory.displacement) & _WORD
