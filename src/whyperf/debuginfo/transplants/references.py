"""What a function's code refers to outside of itself, in the same words for every machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from whyperf.debuginfo.control_flow.flow_instructions import FlowInstruction


class Use(Enum):
    CALL = 0
    JUMP = 1
    ADDRESS = 2
    """Is taken: what is done with it is not known."""
    ACCESS = 3


@dataclass(frozen=True)
class ReferenceEnd:
    """What is used by way of a reference."""

    target: int
    use: Use
    size: int = 1
    """Bytes that are accessed."""
    counted_from: int = 0
    """An address that was taken, from which the instruction at `site` finds the target by a distance."""
    site: int | None = None
    """None: that distance cannot change."""


@dataclass(frozen=True)
class Reference:
    target: int
    use: Use
    sites: tuple[int, ...]
    """Addresses of what has to change for it to lead elsewhere: instructions, or distances in them."""
    is_short: bool = False
    """It cannot lead elsewhere: the distance has too few bits."""
    size: int = 1
    reached: frozenset[ReferenceEnd] = frozenset()
    """What is used by way of the address that was taken: itself, and neighbours at constant distances. Empty: only
    the target."""

    @property
    def ends(self) -> frozenset[ReferenceEnd]:
        return self.reached or frozenset({ReferenceEnd(self.target, self.use, self.size)})


@dataclass(frozen=True)
class CodePart:
    """A stretch of the function's code."""

    low: int
    content: bytes

    @property
    def high(self) -> int:
        return self.low + len(self.content)

    def holds(self, address: int) -> bool:
        return self.low <= address < self.high


@dataclass(frozen=True)
class FunctionCode:
    parts: Sequence[CodePart]
    instructions: Sequence[FlowInstruction]
    """Of all parts, by address."""
    tables: Mapping[int, Sequence[int]]
    """Where jumps through tables lead, by address of the jump."""
    landings: frozenset[int]
    """Where exceptions land."""
    never_return: frozenset[int]
    """Functions that it calls and that never come back."""

    def holds(self, address: int) -> bool:
        return any(part.holds(address) for part in self.parts)


@dataclass(frozen=True)
class References:
    all: Sequence[Reference]
    uses_thread_pointer: bool


Lost = Callable[[int], frozenset[int]]
"""Registers that a call of the function at an address may change, as far as its callers know."""


@dataclass(frozen=True)
class WrittenReference:
    """What a stretch of code changes."""

    registers: frozenset[int]
    """Those that calls may change: general ones by number, vector registers from `VECTOR` on."""
    leads_to: frozenset[int]
    """By calls and jumps."""
    leads_anywhere: bool
    """By a pointer."""
