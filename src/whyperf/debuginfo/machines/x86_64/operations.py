"""What instructions of x86-64 do, read from the disassembler's text: many times faster than its details."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from whyperf.debuginfo.machines.operations import VECTOR, Does, Effect, Immediate, Memory, Operand, Operation

_FRAME, _STACK = 6, 7
_WORD = 8
_PREFIXES = ("lock ", "rep ", "repe ", "repne ")
_NAMES = ("ax", "dx", "cx", "bx", "si", "di", "bp", "sp")
_NUMBER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
_PART = re.compile(r"([+-]?)\s*([a-z]\w*|0x[0-9a-f]+|\d+)(?:\*\d)?")
_COPIES = ("mov", "cvt", "cdqe", "cwde")
_COMPARES = ("cmp", "test", "ucomis", "comis", "bt")
_KEEPS_FLAGS = (*_COPIES, "lea", "push", "pop", "set", "cmov", "j", "call", "nop", "not", "endbr")


def operation(mnemonic: str, operands: str, _end: int) -> Operation:
    return _operation(mnemonic, operands)


@lru_cache(maxsize=1 << 16)
def _operation(mnemonic: str, operands: str) -> Operation:
    name = mnemonic.rpartition(" ")[2] if mnemonic.startswith(_PREFIXES) else mnemonic
    read = tuple(_operand(one) for one in operands.split(", ")) if operands else ()
    return Operation(
        read,
        _effects(name, read),
        sets_flags=not name.startswith(_KEEPS_FLAGS),
        grows=_grows(name, read),
        frame=0 if name == "mov" and read == (_FRAME, _STACK) else None,
    )


def _effects(name: str, operands: tuple[Operand, ...]) -> tuple[Effect, ...]:
    if name.startswith(_COMPARES):
        return (Effect(Does.COMPARE, None, operands),)
    if not operands or name in ("push", "nop", "ret"):
        return ()
    does, sources = Does.COMPUTE, operands
    if name.startswith("set"):
        does = Does.SET_BY_FLAGS
    elif name.startswith("cmov"):
        does = Does.CHOOSE
    elif name == "lea":
        does, sources = Does.TAKE_ADDRESS, operands[1:2]
    elif name.startswith(_COPIES):
        does, sources = Does.COPY, operands[-1:]
    elif (name in ("xor", "sub", "pxor", "xorps") and operands[0] == operands[-1]) or name == "pop":
        does = Does.CLEAR
    return (Effect(does, operands[0], sources),)


def _grows(name: str, operands: tuple[Operand, ...]) -> int:
    if name in ("push", "pop"):
        return _WORD if name == "push" else -_WORD
    if operands and operands[0] == _STACK and isinstance(last := operands[-1], Immediate) and name in ("sub", "add"):
        return last.value if name == "sub" else -last.value
    return 0


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
