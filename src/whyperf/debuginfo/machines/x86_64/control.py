"""Instructions of x86-64, and which of them end a basic block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import capstone

from whyperf.debuginfo.machines.machine import DecodedCode, FlowStep, Read, Row

_DIRECT_TARGET = re.compile(r"0x[0-9a-f]+$|[0-9]+$")
_RELATIVE = re.compile(r"\[rip(?: ([+-]) (\w+))?\]")
_PREFIXES = ("notrack ", "bnd ")
_TRAPS = frozenset({"ud0", "ud1", "ud2", "hlt"})
_STOPS = frozenset({"ret", "retf", "retfq", "iret", "iretd", "iretq"}) | _TRAPS
_CALL = 0xE8  # and the distance in 4 bytes
_TWO_BYTES = 0x0F
_ALWAYS = frozenset({"jmp", "ljmp"})


def instructions(content: bytes, address: int) -> Iterator[Row]:
    """In order."""
    for start, size, text, operands in _decoder().disasm_lite(content, address):
        yield start, size, text.rpartition(" ")[2] if text.startswith(_PREFIXES) else text, operands


def decoded(content: bytes, address: int, _read: Read | None = None) -> DecodedCode:
    return DecodedCode(instructions(content, address), {})


def is_call(mnemonic: str) -> bool:
    return mnemonic in ("call", "lcall")


def is_jump(mnemonic: str) -> bool:
    return mnemonic[0] == "j" or mnemonic.startswith(("loop", "ljmp"))


def is_stop(mnemonic: str) -> bool:
    return mnemonic in _STOPS


def is_trap(mnemonic: str) -> bool:
    return mnemonic in _TRAPS


def is_conditional(content: bytes) -> bool:
    """A jump on flags, without a prefix."""
    return content[0] & 0xF0 == 0x70 or (content[0] == _TWO_BYTES and content[1] & 0xF0 == 0x80)


@cache
def step(mnemonic: str) -> FlowStep:
    if is_call(mnemonic):
        return FlowStep.CALL
    if is_jump(mnemonic):
        return FlowStep.JUMP if mnemonic in _ALWAYS else FlowStep.BRANCH
    return FlowStep.STOP if is_stop(mnemonic) else FlowStep.NEXT


def direct_target(operands: str) -> int | None:
    return int(operands, 0) if _DIRECT_TARGET.match(operands) else None


def call_before(content: bytes, end: int) -> int | None:
    """Other instructions may happen to end like one."""
    is_call = len(content) >= 5 and content[-5] == _CALL
    return end + int.from_bytes(content[-4:], "little", signed=True) if is_call else None


def relative_target(operands: str, end: int) -> int | None:
    """What lies relative to the instruction that ends there; None if no operand does."""
    found = _RELATIVE.search(operands)
    if found is None:
        return None
    distance = int(found[2] or "0", 0)
    return end + (-distance if found[1] == "-" else distance)


@cache
def _decoder() -> Any:
    """Without operand details, which cost far more than the decoding."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    return decoder
