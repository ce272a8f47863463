"""Words of instructions of x86-64."""

from __future__ import annotations

import re

_REGISTER = re.compile(
    r"\b(?:[re]?(?:ax|bx|cx|dx|si|di|bp|sp)|[abcd][lh]|(?:si|di|bp|sp)l|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d+|st\(\d\))\b"
)
_REFERENCE = re.compile(r"(?:(\w+) ptr )?\[rip[^]]*\]")
_STACK = re.compile(r"\[r[bs]p\b[^]]*\]")
_MOVES = frozenset(
    {"mov", "movaps", "movapd", "movups", "movupd", "movdqa", "movdqu", "movq", "movd", "movss", "movsd"}
)
_LAYOUT = frozenset({"push", "pop", "leave", "endbr64", "int3", "data16", ".byte"})
_ZEROING = frozenset({"xor", "xorps", "xorpd", "pxor", "vpxor", "vxorps"})
# Which way of two is written as the jump depends on where their code was put.
_SAME_JUMP = {"jne": "je", "jge": "jl", "jg": "jle", "jae": "jb", "ja": "jbe", "jns": "js", "jno": "jo", "jnp": "jp"}
_BYTES = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}


def plain(mnemonic: str, operands: str) -> str | None:
    if mnemonic in _LAYOUT or "nop" in mnemonic or operands.startswith("rsp, "):
        return ""
    if "[rip" in operands:
        return None
    if mnemonic in _MOVES and (_STACK.search(operands) or _between_registers(operands)):
        return ""
    if mnemonic in _ZEROING and len(set(operands.split(", "))) == 1:
        return ""
    return f"{mnemonic} {_without_registers(_STACK.sub('[stack]', operands))}"


def condition(mnemonic: str, _operands: str) -> str:
    return _SAME_JUMP.get(mnemonic, mnemonic)


def bytes_referred_to(mnemonic: str, operands: str) -> int | None:
    found = _REFERENCE.search(operands)
    return None if mnemonic == "lea" else _BYTES.get((found and found[1]) or "", 0)


def referring(mnemonic: str, operands: str, referred: str) -> str:
    return f"{mnemonic} {_without_registers(_REFERENCE.sub(lambda _: f'@{referred}', operands))}"


def _between_registers(operands: str) -> bool:
    return all(_REGISTER.fullmatch(operand) for operand in operands.split(", "))


def _without_registers(operands: str) -> str:
    return _REGISTER.sub("r", operands)
