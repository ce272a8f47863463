"""How instructions of x86-64 number registers."""

from __future__ import annotations

STACK_POINTER = 7
"""As DWARF numbers them."""
ENCODED = (0, 2, 1, 3, 6, 7, 5, 4, *range(8, 16))
"""DWARF's registers as instructions have them."""
