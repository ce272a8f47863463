"""What transplants must know about a machine's code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whyperf.debuginfo.transplants.references import FunctionCode, Lost, Reference, References, WrittenReference


@dataclass(frozen=True)
class Saving:
    code: bytes
    fix: int
    """Where in it the distance is, or the instruction with it."""


@dataclass(frozen=True)
class EntryPatch:
    at: int
    """Where in a function the jump is."""
    size: int
    skipped: int = 0
    """Bytes of the other function that are not executed then."""


@dataclass(frozen=True, eq=False)
class Coding:
    references: Callable[[FunctionCode, Lost], References]
    redirected: Callable[[bytearray, Reference, int, int, int], list[int]]
    """Has a reference in the copy, which begins at an address, lead elsewhere than so far: both as if the copy began at
    address 0. Where corrections are needed if it does not."""
    counted: Callable[[bytearray, int, int], None]
    """Has the instruction at a place in the copy find its data so far from the address that it counts from."""
    import_stub: Callable[[int, int], bytes]
    """Code for an address that goes on to what the slot at another one holds."""
    entry_patch: Callable[[bytes, bytes], EntryPatch]
    """How a function leads to another one instead, by how both begin."""
    saving: Callable[[Iterable[int], int, int], Saving]
    """Code for an address that calls another one and leaves registers as they were."""
    written_in: Callable[[FunctionCode], WrittenReference]
    lost: frozenset[int]
    """Registers that any call may change."""
    returned: int
    """The register in which functions return numbers and pointers."""
    arguments: int
    """How many are passed in registers, at least."""
    fill: bytes
