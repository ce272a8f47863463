"""Instructions with their operands, read from the disassembler's text: many times faster than its details."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import capstone

VECTOR = 32
"""Where the numbers of xmm registers begin; below are DWARF's numbers of general ones."""
FRAME, STACK = 6, 7
ARGUMENTS = ((5, 4, 1, 2, 8, 9), tuple(range(VECTOR, VECTOR + 8)))
"""Registers in which calls pass arguments: whole numbers and pointers, and floating-point numbers."""
LOST_IN_CALLS = frozenset((0, 1, 2, 4, 5, 8, 9, 10, 11, *range(VECTOR, VECTOR + 16)))

_PREFIXES = ("notrack ", "bnd ", "lock ", "rep ", "repe ", "repne ")
_NAMES = ("ax", "dx", "cx", "bx", "si", "di", "bp", "sp")
_NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
_PART = re.compile(r"([+-]?)\s*([a-z]\w*|0x[0-9a-f]+|\d+)(?:\*\d)?")


@dataclass(frozen=True)
class Memory:
    registers: tuple[int, ...]
    """Base and index."""
    displacement: int
    by_instruction: bool
    """Counted from the next instruction's address."""


@dataclass(frozen=True)
class Immediate:
    value: int


Operand = int | Memory | Immediate | None
"""A register, memory, a number; None for anything else."""


@dataclass(frozen=True)
class Instruction:
    address: int
    end: int
    mnemonic: str
    operands: tuple[Operand, ...]
    target: int | None
    """Of a direct jump or call."""


def instructions(content: bytes, address: int) -> Iterator[Instruction]:
    """In order; bytes that are no instructions are passed over."""
    for start, size, text, operands in _decoder().disasm_lite(content, address):
        mnemonic = text.rpartition(" ")[2] if text.startswith(_PREFIXES) else text
        target = None
        if mnemonic[0] == "j" or mnemonic == "call":
            target = int(operands, 0) if operands[:1].isdigit() else None
        yield Instruction(start, start + size, mnemonic, _operands(operands), target)


@lru_cache(maxsize=1 << 16)
def _operands(text: str) -> tuple[Operand, ...]:
    return tuple(_operand(one) for one in text.split(", ")) if text else ()


def _operand(text: str) -> Operand:
    if _NUMBER.fullmatch(text):
        return Immediate(int(text, 0))
    if "[" not in text:
        return _registers().get(text)
    if ":" in text:  # thread-local
        return None
    displacement, registers = 0, []
    for sign, name in _PART.findall(text[text.index("[") + 1 : text.index("]")]):
        if name[0].isdigit():
            displacement += int(name, 0) * (-1 if sign == "-" else 1)
        elif name != "rip":
            registers.append(_registers().get(name, -1))
    return Memory(tuple(registers), displacement, "rip" in text)


@cache
def _registers() -> dict[str, int]:
    found: dict[str, int] = {}
    for number, name in enumerate(_NAMES):
        short = name[0] + "l" if name[1] == "x" else name + "l"
        found |= dict.fromkeys((f"r{name}", f"e{name}", name, short), number)
    for number in range(8, 16):
        found |= dict.fromkeys((f"r{number}", f"r{number}d", f"r{number}w", f"r{number}b"), number)
    return found | {f"xmm{number}": VECTOR + number for number in range(16)}


@cache
def _decoder() -> Any:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.skipdata = True
    return decoder
