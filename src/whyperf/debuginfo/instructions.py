"""The instructions that end a basic block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import capstone

_DIRECT_TARGET = re.compile(r"0x[0-9a-f]+$|[0-9]+$")
_RELATIVE = re.compile(r"\[rip(?: ([+-]) (\w+))?\]")
_PREFIXES = ("notrack ", "bnd ")
_TRAPS = frozenset({"ud0", "ud1", "ud2", "hlt"})
_STOPS = frozenset({"ret", "retf", "retfq", "iret", "iretd", "iretq"}) | _TRAPS
_ALWAYS = frozenset({"jmp", "ljmp"})


@dataclass(frozen=True)
class Branching:
    """A jump, a call or the end of a path."""

    start: int
    end: int
    """The address after it."""
    target: int | None
    """None for indirect ones and for returns."""
    is_call: bool
    is_jump: bool
    goes_on: bool
    """What follows it may run next, as far as the instruction itself tells."""


def instructions(content: bytes, address: int) -> Iterator[tuple[int, int, str, str]]:
    """Address, size, mnemonic without prefixes that change nothing here, operands; in order."""
    for start, size, text, operands in _decoder().disasm_lite(content, address):
        yield start, size, text.rpartition(" ")[2] if text.startswith(_PREFIXES) else text, operands


def is_call(mnemonic: str) -> bool:
    return mnemonic in ("call", "lcall")


def is_jump(mnemonic: str) -> bool:
    return mnemonic[0] == "j" or mnemonic.startswith(("loop", "ljmp"))


def is_stop(mnemonic: str) -> bool:
    return mnemonic in _STOPS


def is_trap(mnemonic: str) -> bool:
    return mnemonic in _TRAPS


def direct_target(operands: str) -> int | None:
    return int(operands, 0) if _DIRECT_TARGET.match(operands) else None


def relative_target(operands: str, end: int) -> int | None:
    """What lies relative to the instruction that ends there; None if no operand does."""
    found = _RELATIVE.search(operands)
    if found is None:
        return None
    distance = int(found[2] or "0", 0)
    return end + (-distance if found[1] == "-" else distance)


def branching_instructions(content: bytes, address: int) -> Iterator[Branching]:
    """In order; bytes that are no instructions are passed over."""
    for one in instructions(content, address):
        branching = branching_of(*one)
        if branching is not None:
            yield branching


def branching_of(start: int, size: int, mnemonic: str, operands: str) -> Branching | None:
    """None for an instruction after which the next one runs."""
    call, jump = is_call(mnemonic), is_jump(mnemonic)
    if not (call or jump or is_stop(mnemonic)):
        return None
    goes_on = call or (jump and mnemonic not in _ALWAYS)
    return Branching(start, start + size, direct_target(operands), call, jump, goes_on)


@cache
def _decoder() -> Any:
    """Without operand details, which cost far more than the decoding."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    return decoder
