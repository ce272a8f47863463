"""Functions that allocate and free, and which of their parameters say what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class AllocatorRole(IntEnum):
    """The same numbers as in `native/memory/linked.h`."""

    ALLOCATE = 0
    ALLOCATE_MANY = 1
    """So many of such a size."""
    ALLOCATE_INTO = 2
    """Stores the address where its first argument points to, and returns 0."""
    REALLOCATE = 3
    FREE = 4
    RESET = 5
    """Frees all that one arena handed out."""

    @property
    def allocates(self) -> bool:
        return self <= AllocatorRole.REALLOCATE


@dataclass(frozen=True)
class Arguments:
    """By number, from 0 on; None: there is no such argument."""

    size: int | None = None
    size_bytes: int = 8
    """How wide it is: the rest of a register may hold anything."""
    count: int | None = None
    pointer: int | None = None
    arena: int | None = None


@dataclass(frozen=True)
class AllocatorFunction:
    name: str
    """As in the symbol table."""
    role: AllocatorRole
    arguments: Arguments | None = None
    """None: the debug information must say."""
    asked: int | None = None
    """The argument that the user named: the size, the pointer or the arena."""


@dataclass(frozen=True)
class Allocator:
    name: str
    functions: tuple[AllocatorFunction, ...]

    @property
    def can_be_reset(self) -> bool:
        return any(one.role is AllocatorRole.RESET for one in self.functions)
