"""Places in a copy that get an address when it is put into a program: eight bytes each."""

from __future__ import annotations

from enum import IntEnum


class SlotKind(IntEnum):
    """What is put there; `native/probes/transplant.c` has the same numbers."""

    SYMBOL = 0
    """The address of the symbol whose name follows."""
    MODULE = 1
    """The address of what lies in the module at the address that is there."""
    FRAMES = 2
    """Nothing: unwind information begins there."""
