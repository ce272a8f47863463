"""Which instructions of aarch64 end a basic block, and where they lead."""

from __future__ import annotations

import re
from functools import cache

from whyperf.debuginfo.machines.machine import FlowStep

_CALLS = frozenset({"bl", "blr", "blraa", "blrab", "blraaz", "blrabz"})
_JUMPS = frozenset({"b", "b.al", "b.nv", "bc.al", "bc.nv", "br", "braa", "brab", "braaz", "brabz"})
_TESTS = frozenset({"cbz", "cbnz", "tbz", "tbnz"})
_TRAPS = frozenset({"udf", "brk", "hlt"})
_STOPS = frozenset({"ret", "retaa", "retab", "eret", "eretaa", "eretab", "drps"}) | _TRAPS
_CALL, _DISTANCE, _BACKWARDS = 0b100101, (1 << 26) - 1, 1 << 25
_LAST_NUMBER = re.compile(r"#(0x[0-9a-f]+|\d+)$")
_FIXED = re.compile(r"\[(0x[0-9a-f]+)\]")


@cache
def step(mnemonic: str) -> FlowStep:
    if mnemonic in _CALLS:
        return FlowStep.CALL
    if mnemonic in _JUMPS:
        return FlowStep.JUMP
    if mnemonic in _TESTS or mnemonic.startswith(("b.", "bc.")):
        return FlowStep.BRANCH
    return FlowStep.STOP if mnemonic in _STOPS else FlowStep.NEXT


def is_trap(mnemonic: str) -> bool:
    return mnemonic in _TRAPS


def is_test(mnemonic: str) -> bool:
    """Whether a conditional jump compares a register itself."""
    return mnemonic in _TESTS


def direct_target(operands: str) -> int | None:
    found = _LAST_NUMBER.search(operands)
    return None if found is None else int(found[1], 0)


def call_before(content: bytes, end: int) -> int | None:
    word = int.from_bytes(content[-4:], "little")
    if len(content) < 4 or word >> 26 != _CALL:
        return None
    distance = (word & _DISTANCE) - ((word & _BACKWARDS) << 1)
    return end - 4 + 4 * distance


def fixed_address(operands: str, _end: int) -> int | None:
    """In operands as `addresses` writes them."""
    found = _FIXED.search(operands)
    return None if found is None else int(found[1], 0)
