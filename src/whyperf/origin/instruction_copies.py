"""Copies of an instruction that makes a value: compilers copy what they inline, and people copy code."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind
from whyperf.origin.lines import instructions_of
from whyperf.origin.program_code import CodeAddress, ProgramCode
from whyperf.origin.questions import CodeHere
from whyperf.origin.source_text import lines_of

_NUMBERS = re.compile(r"(?<!\w)-?(?:0x[0-9a-f]+|\d+)\b")
_MOST_COPIES = 64  # that are changed together
LinesOf = Callable[[str, int], list[int]]
"""Lines of a source file on which copies are looked for."""


@dataclass(frozen=True)
class InstructionCopy:
    """An instruction behind which a register holds the value."""

    module: Path
    address: int
    register: int
    """A general or a vector register."""
    in_good: tuple[Path, int] | None
    """File and address of the same instruction in the good build; None: that has other code there."""


def copies_of(
    at: CodeAddress, code: ProgramCode, kinds: Collection[DefinitionKind], lines: LinesOf
) -> tuple[InstructionCopy, ...]:
    """The instruction itself, and on these lines the same instruction with the same numbers, for a variable of the same
    name. None if it makes no such value in a register, or if there are too many copies to change them together."""
    found = tuple(islice(_copies(at, code, kinds, lines), _MOST_COPIES + 1))
    return found if len(found) <= _MOST_COPIES else ()


def _copies(
    at: CodeAddress, code: ProgramCode, kinds: Collection[DefinitionKind], lines: LinesOf
) -> Iterator[InstructionCopy]:
    own = at.slicer.function.at(at.address) if at.slicer is not None else None
    if at.slicer is None or own is None:
        return
    here, module = CodeHere(at.module, at.slicer), at.module
    made = _made(here, own.address, kinds)
    if made is None:
        return
    name, key = _name(here, made, own.end), (own.mnemonic, _NUMBERS.findall(own.text))
    file, line = module.line(own.address)
    seen = set[int]()
    on_lines = (found for alike in lines(file, line) for found in instructions_of(module, file, alike))
    for there, one in chain([(here, own)], on_lines):
        if one.address in seen:
            continue
        seen.add(one.address)
        twin = _made(there, one.address, kinds)
        is_twin = (one.mnemonic, _NUMBERS.findall(one.text)) == key and twin is not None and twin.size == made.size
        if is_twin and twin is not None and isinstance(twin.target, int) and _name(there, twin, one.end) == name:
            good = code.in_good(CodeAddress(module, one.address))
            yield InstructionCopy(module.path, one.address, twin.target, good)


def own_line(_file: str, line: int) -> list[int]:
    """Where the compiler's copies are."""
    return [line] if line else []


def lines_alike(file: str, line: int) -> list[int]:
    """People copy code as well, and a table that grows is filled by another function than one that is searched: lines
    that read the same. The line alone where its text is unknown."""
    if not line:
        return []
    texts = [text.strip() for text in lines_of(file)]
    own = texts[line - 1] if line <= len(texts) else ""
    return [number for number, text in enumerate(texts, 1) if text == own] if own else [line]


def _made(here: CodeHere, address: int, kinds: Collection[DefinitionKind]) -> Definition | None:
    """The value that an instruction puts into a register."""
    made = (one for one in here.slicer.made_by(address) if one.kind in kinds and isinstance(one.target, int))
    return next((one for one in made if isinstance(one.target, int) and one.target >= 0), None)


def _name(here: CodeHere, made: Definition, end: int) -> str:
    variables = here.module.variables
    return "" if variables is None or made.target is None else variables.name_of(end, made.target)
