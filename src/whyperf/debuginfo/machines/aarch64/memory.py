"""What instructions of aarch64 do to memory, by their text."""

from __future__ import annotations

import re

from whyperf.recording.schemas.deep_tables import MemoryUse

_NONE = MemoryUse(0)
_BOTH = MemoryUse.READS | MemoryUse.WRITES
# Atomic additions and their kin, exchanges, copies of blocks.
_UPDATES = re.compile(r"(ld|st)(add|clr|eor|set|smax|smin|umax|umin)|swp|cas|cpy")
_FILLS = ("st", "set")


def memory_use(mnemonic: str, operands: str) -> MemoryUse:
    if "[" not in operands:
        return _NONE
    if _UPDATES.match(mnemonic):
        return _BOTH
    if mnemonic.startswith("ld"):
        return MemoryUse.READS
    return MemoryUse.WRITES if mnemonic.startswith(_FILLS) else _NONE


def uses_stack(_mnemonic: str, operands: str, frame: bool) -> bool:
    return "[sp" in operands or (frame and "[x29" in operands)


def sets_frame(mnemonic: str, operands: str) -> bool:
    return mnemonic in ("mov", "add") and operands.startswith("x29, sp")


def indexed(_operands: str) -> None:
    """`addresses` follows jumps through tables."""
