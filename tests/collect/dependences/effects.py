"""What an instruction reads and writes, byte by byte: what the oracle's understanding of each machine comes to.

A place is ("rax", 3) for a byte of a register, ("C", 0) for a flag, or an int for a byte of memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[str, int] | int
MASK = 2**64 - 1


@dataclass
class Effects:
    """`moves`: for plain copies, where each written byte comes from; bytes that are missing are made up."""

    values: set[Place] = field(default_factory=set)
    memory: set[int] = field(default_factory=set)
    addresses: set[Place] = field(default_factory=set)
    writes: set[Place] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    in_place: bool = False
    moves: dict[Place, tuple[Place, ...]] | None = None


class UnknownInstructionError(Exception):
    """The oracle cannot judge a program with this."""


def bytes_at(address: int, size: int) -> set[int]:
    return {address + i for i in range(size)}
