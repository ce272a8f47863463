"""Words of instructions of aarch64, with operands as `addresses` writes them."""

from __future__ import annotations

import re

_REGISTER = re.compile(r"\b(?:([xwbhsdq])(?:\d+|zr)|[wx]?sp|(v)\d+)\b")
_REFERENCE = re.compile(r"\[0x[0-9a-f]+\]")
_STACK = re.compile(r"\[(?:sp|x29)\b[^]]*\](?:!|, #-?\w+)?")
_ON_STACK = re.compile(r"(\w+), (?:sp|(?:sp|x29), #\w+(?:, lsl #12)?)$")
_ZERO = re.compile(r"\b[xw]zr\b")
_MOVES = frozenset({"mov", "fmov", "ldr", "str", "ldp", "stp", "ldur", "stur"})
_LAYOUT = frozenset(
    {"adrp", "nop", "bti", "hint", "paciasp", "pacibsp", "autiasp", "autibsp", "xpaclri", "udf", ".byte"},
)
_ZEROING = re.compile(r"\S+, (?:#0+(?:\.0+)?|[xw]zr)$")
_FRAME = ("sp, ", "x29, sp")
# Which way of two is written as the jump depends on where their code was put.
_SAME_CONDITION = {"ne": "eq", "ge": "lt", "gt": "le", "hs": "lo", "hi": "ls", "pl": "mi", "vc": "vs"}
_SAME_TEST = {"cbnz": "cbz", "tbnz": "tbz"}
_BYTES = {"w": 4, "x": 8, "b": 1, "h": 2, "s": 4, "d": 8, "q": 16}
_NARROW = (("ldrb", 1), ("ldrsb", 1), ("ldrh", 2), ("ldrsh", 2), ("ldrsw", 4), ("ldpsw", 8))


def plain(mnemonic: str, operands: str) -> str | None:
    if mnemonic in _LAYOUT or operands.startswith(_FRAME):
        return ""
    if _REFERENCE.search(operands):
        return None
    if mnemonic in ("add", "sub", "mov") and (found := _ON_STACK.match(operands)):
        return f"adr {_without_registers(found[1])}, [stack]"
    if mnemonic in _MOVES and (_STACK.search(operands) or _between_registers(operands)):
        return ""
    if mnemonic in ("mov", "movi", "fmov") and _ZEROING.match(operands):
        return ""
    return f"{mnemonic} {_without_registers(_STACK.sub('[stack]', operands))}"


def condition(mnemonic: str, operands: str) -> str:
    name, _, which = mnemonic.partition(".")
    if which:
        return f"{name}.{_SAME_CONDITION.get(which, which)}"
    bit = operands.split(", ")[1:-1]
    return " ".join((_SAME_TEST.get(mnemonic, mnemonic), *bit)).replace("#", "")


def bytes_referred_to(mnemonic: str, operands: str) -> int | None:
    if mnemonic == "adr":
        return None
    narrow = next((size for name, size in _NARROW if mnemonic == name), None)
    if narrow is not None or not mnemonic.startswith("ld"):
        return narrow or 0
    return _BYTES.get(operands[0], 0) * (2 if mnemonic == "ldp" else 1)


def referring(mnemonic: str, operands: str, referred: str) -> str:
    if mnemonic == "adr" and not referred:
        return ""  # whether data is addressed by way of its neighbours depends on where they lie
    start, end = next(_REFERENCE.finditer(operands)).span()
    return f"{mnemonic} {_without_registers(operands[:start])}@{referred}{_without_registers(operands[end:])}"


def _between_registers(operands: str) -> bool:
    return all(_REGISTER.fullmatch(operand) for operand in operands.split(", ")) and not _ZERO.search(operands)


def _without_registers(operands: str) -> str:
    """Of registers their kind remains: how many bytes the source's variables have."""
    return _REGISTER.sub(lambda found: found[1] or found[2] or "x", _ZERO.sub("0", operands)).replace("#", "")
