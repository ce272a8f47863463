"""Instructions as words that two builds of the same source share.

Where code and data lie differs from build to build, and so do registers, places on the stack and what is moved between
them: they follow from everything else in a function. What remains is what the source says: operations, constants,
fields, which functions are called, which texts are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import FlowStep, Machine

_NUMBER_LAST = re.compile(r", (0x[0-9a-f]+|\d)$")
_TEXT_MAX = 256


class CodeWords:
    """`called`: names of functions by entry address, None where there is none; `sources`: names of source files,
    without folders."""

    def __init__(self, machine: Machine, image: Image, called: Mapping[int, str | None], sources: Set[str]) -> None:
        self._machine, self._image, self._called, self._sources = machine, image, called, sources
        self._plain: dict[tuple[str, str], str] = {}

    def of(self, address: int, size: int, mnemonic: str, operands: str) -> str:
        """Empty for instructions that do not count."""
        asked = (mnemonic, operands)
        word = self._plain.get(asked)
        if word is not None:
            return word
        step = self._machine.step(mnemonic)
        if step not in (FlowStep.NEXT, FlowStep.STOP):
            target = self._machine.direct_target(operands)
            if target is not None:
                return self._going_to(step, mnemonic, operands, target)
        word = self._machine.words.plain(mnemonic, operands)
        if word is not None:
            self._plain[asked] = word
            return word
        target = self._machine.fixed_address(operands, address + size)
        return "" if target is None else self._with_reference(target, mnemonic, operands)

    def _going_to(self, step: FlowStep, mnemonic: str, operands: str, target: int) -> str:
        name = self._called[target]
        if step is FlowStep.CALL:
            return f"call {name or self._imported(target)}"
        if step is FlowStep.JUMP:
            return "" if name is None else f"call {name}"
        condition = self._machine.words.condition(mnemonic, operands)
        return condition if name is None else f"{condition} {name}"

    def _imported(self, stub: int) -> str:
        """The function of another file to which the linkage stub there goes on."""
        machine = self._machine
        for start, size, mnemonic, operands in machine.decoded(self._image.read(stub, machine.stub_bytes), stub).rows:
            if machine.step(mnemonic) is FlowStep.JUMP:
                slot = machine.fixed_address(operands, start + size)
                return "" if slot is None else self._image.imports.get(slot, "")
        return ""

    def _with_reference(self, target: int, mnemonic: str, operands: str) -> str:
        words = self._machine.words
        referred = self._called[target] or self._image.imports.get(target)
        referred = referred or self._content(target, words.bytes_referred_to(mnemonic, operands))
        return words.referring(mnemonic, operands, referred)

    def _content(self, address: int, size: int | None) -> str:
        """What lies there, if it is a constant or a text."""
        if not self._image.is_constant(address):
            return ""
        if size is not None:
            return self._image.read(address, size).hex()
        text, end, _ = self._image.read(address, _TEXT_MAX).partition(b"\0")
        if not end or not text.isascii() or not text.decode().replace("\n", "").replace("\t", "").isprintable():
            return ""
        name = text.decode().rpartition("/")[2]
        return name if name in self._sources else text.decode()


def number_in(word: str) -> tuple[int, str]:
    """A constant as the last operand, and the word if that is the number of its line; 0 where there is none."""
    match = _NUMBER_LAST.search(word)
    return (int(match[1], 0), word[: match.start()] + ", line") if match else (0, word)
