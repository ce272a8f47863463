"""The instructions that end a basic block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import capstone

_DIRECT_TARGET = re.compile(r"0x[0-9a-f]+$|[0-9]+$")
_PREFIXES = ("notrack ", "bnd ")
_STOPS = frozenset({"ret", "retf", "retfq", "iret", "iretd", "iretq", "ud0", "ud1", "ud2", "hlt"})
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


def branching_instructions(content: bytes, address: int) -> Iterator[Branching]:
    """In order; bytes that are no instructions are passed over."""
    for start, size, text, operands in _decoder().disasm_lite(content, address):
        mnemonic = text.rpartition(" ")[2] if text.startswith(_PREFIXES) else text
        is_call = mnemonic in ("call", "lcall")
        is_jump = mnemonic[0] == "j" or mnemonic.startswith(("loop", "ljmp"))
        if is_call or is_jump or mnemonic in _STOPS:
            target = int(operands, 0) if _DIRECT_TARGET.match(operands) else None
            goes_on = is_call or (is_jump and mnemonic not in _ALWAYS)
            yield Branching(start, start + size, target, is_call, is_jump, goes_on)


@cache
def _decoder() -> Any:
    """Without operand details, which cost far more than the decoding."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    return decoder
