"""Instructions as words that two builds of the same source share.

Where code and data lie differs from build to build, and so do registers, places on the stack and what is moved between
them: they follow from everything else in a function. What remains is what the source says: operations, constants,
fields, which functions are called, which texts are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from whyperf.debuginfo.image import Image
from whyperf.debuginfo.instructions import direct_target, is_call, is_jump, relative_target

_REGISTER = re.compile(
    r"\b(?:[re]?(?:ax|bx|cx|dx|si|di|bp|sp)|[abcd][lh]|(?:si|di|bp|sp)l|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d+|st\(\d\))\b"
)
_REFERENCE = re.compile(r"(?:(\w+) ptr )?\[rip[^]]*\]")
_STACK = re.compile(r"\[r[bs]p\b[^]]*\]")
_NUMBER_LAST = re.compile(r", (0x[0-9a-f]+|\d)$")
_MOVES = frozenset(
    {"mov", "movaps", "movapd", "movups", "movupd", "movdqa", "movdqu", "movq", "movd", "movss", "movsd"}
)
_LAYOUT = frozenset({"push", "pop", "leave", "endbr64", "int3", "data16", ".byte"})
_ZEROING = frozenset({"xor", "xorps", "xorpd", "pxor", "vpxor", "vxorps"})
# Which way of two is written as the jump depends on where their code was put.
_SAME_JUMP = {"jne": "je", "jge": "jl", "jg": "jle", "jae": "jb", "ja": "jbe", "jns": "js", "jno": "jo", "jnp": "jp"}
_BYTES = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}
_TEXT_MAX = 256
_LINKAGE_STUB = 16


class CodeWords:
    """`called`: names of functions by entry address, None where there is none; `sources`: names of source files,
    without folders."""

    def __init__(self, image: Image, called: Mapping[int, str | None], sources: Set[str]) -> None:
        self._image, self._called, self._sources = image, called, sources
        self._plain: dict[tuple[str, str], str] = {}

    def of(self, address: int, size: int, mnemonic: str, operands: str) -> str:
        """Empty for instructions that do not count."""
        asked = (mnemonic, operands)
        word = self._plain.get(asked)
        if word is not None:
            return word
        if is_call(mnemonic) or is_jump(mnemonic):
            target = direct_target(operands)
            if target is not None:
                return self._going_to(mnemonic, target)
        word = _plain(mnemonic, operands)
        if word is not None:
            self._plain[asked] = word
            return word
        target = relative_target(operands, address + size)
        return "" if target is None else self._with_reference(target, mnemonic, operands)

    def _going_to(self, mnemonic: str, target: int) -> str:
        name = self._called[target]
        if is_call(mnemonic):
            return f"call {name or self._imported(target)}"
        if name is None:
            return "" if mnemonic == "jmp" else _SAME_JUMP.get(mnemonic, mnemonic)
        return f"call {name}" if mnemonic == "jmp" else f"{_SAME_JUMP.get(mnemonic, mnemonic)} {name}"

    def _imported(self, stub: int) -> str:
        """The function of another file to which the linkage stub there goes on."""
        content = self._image.read(stub, _LINKAGE_STUB)
        at = content.find(b"\xff\x25")
        if not 0 <= at <= _LINKAGE_STUB - 6:
            return ""
        slot = stub + at + 6 + int.from_bytes(content[at + 2 : at + 6], "little", signed=True)
        return self._image.imports.get(slot, "")

    def _with_reference(self, target: int, mnemonic: str, operands: str) -> str:
        name = self._called[target] or self._image.imports.get(target)

        def referred(match: re.Match[str]) -> str:
            return f"@{name or self._content(target, mnemonic, match[1])}"

        return f"{mnemonic} {_without_registers(_REFERENCE.sub(referred, operands))}"

    def _content(self, address: int, mnemonic: str, width: str | None) -> str:
        """What lies there, if it is a constant or a text."""
        if not self._image.is_constant(address):
            return ""
        if mnemonic != "lea":
            return self._image.read(address, _BYTES.get(width or "", 0)).hex()
        text, end, _ = self._image.read(address, _TEXT_MAX).partition(b"\0")
        if not end or not text.isascii() or not text.decode().replace("\n", "").replace("\t", "").isprintable():
            return ""
        name = text.decode().rpartition("/")[2]
        return name if name in self._sources else text.decode()


def number_in(word: str) -> tuple[int, str]:
    """A constant as the last operand, and the word if that is the number of its line; 0 where there is none."""
    match = _NUMBER_LAST.search(word)
    return (int(match[1], 0), word[: match.start()] + ", line") if match else (0, word)


def _plain(mnemonic: str, operands: str) -> str | None:
    """None where the word depends on what a relative address refers to."""
    if mnemonic in _LAYOUT or "nop" in mnemonic or operands.startswith("rsp, "):
        return ""
    if "[rip" in operands:
        return None
    if mnemonic in _MOVES and (_STACK.search(operands) or _between_registers(operands)):
        return ""
    if mnemonic in _ZEROING and len(set(operands.split(", "))) == 1:
        return ""
    return f"{mnemonic} {_without_registers(_STACK.sub('[stack]', operands))}"


def _between_registers(operands: str) -> bool:
    return all(_REGISTER.fullmatch(operand) for operand in operands.split(", "))


def _without_registers(operands: str) -> str:
    return _REGISTER.sub("r", operands)
