"""Where the values of a hop could be spread evenly, for those who want to prove that they are too few."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from whyperf.debuginfo.slices.definitions import Definition, DefinitionKind
from whyperf.diagnose.origin import HopKind
from whyperf.origin.lines import instructions_of
from whyperf.origin.program_code import CodeAddress, ProgramCode
from whyperf.origin.questions import CodeHere
from whyperf.origin.source_text import lines_of
from whyperf.origin.trail import TrailStep

_MADE = (HopKind.COMPUTED, HopKind.LOADED, HopKind.CHOSEN)
_SIZES = (4, 8)
_MADE_BY = (DefinitionKind.COMPUTE, DefinitionKind.LOAD, DefinitionKind.SELECT)
_MOST_COPIES = 64
_NUMBERS = re.compile(r"(?<!\w)-?(?:0x[0-9a-f]+|\d+)\b")


@dataclass(frozen=True)
class SpreadableCopy:
    """An instruction behind which a register holds the value."""

    module: Path
    address: int
    register: int
    """A general or a vector register."""
    in_good: tuple[Path, int] | None
    """File and address of the same instruction in the good build; None: that has other code there."""


@dataclass(frozen=True)
class SpreadableSite:
    """What one place of the source makes, with all copies that the compiler made of it: what is spread in one must be
    spread in all, since the same must stay the same."""

    copies: tuple[SpreadableCopy, ...]
    size: int
    gathers: bool
    """The bad run's values are the same few, again and again."""
    bad_bits: int
    """So many bits would tell the bad run's values apart."""


def spreadable_sites(steps: Iterable[TrailStep], code: ProgramCode) -> tuple[SpreadableSite, ...]:
    """The nearest to where time is paid first."""
    found = (_site(step, code) for step in steps if _can_be(step))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _can_be(step: TrailStep) -> bool:
    compared = step.compared
    is_number = not compared.only_addresses and compared.is_on_both_sides and compared.size in _SIZES
    return step.kind in _MADE and step.after and not step.counts and is_number


def _site(step: TrailStep, code: ProgramCode) -> SpreadableSite | None:
    copies = tuple(_copies(step, code))
    if not 0 < len(copies) <= _MOST_COPIES:
        return None
    compared = step.compared
    return SpreadableSite(copies, compared.size, compared.gathers, compared.bad_bits)


def _copies(step: TrailStep, code: ProgramCode) -> Iterator[SpreadableCopy]:
    """Of lines that read the same, the same instruction with the same numbers, for a variable of the same name."""
    slicer, module = step.at.slicer, step.at.module
    own = slicer.function.at(step.at.address) if slicer is not None else None
    if slicer is None or own is None:
        return
    here = CodeHere(module, slicer)
    made = _made(here, own.address)
    if made is None:
        return
    name, key = _name(here, made, own.end), (own.mnemonic, _NUMBERS.findall(own.text))
    file, line = module.line(own.address)
    others = {own.address: (here, own)}
    for alike in _lines_alike(file, line):
        others |= {one.address: (there, one) for there, one in instructions_of(module, file, alike)}
    for there, one in others.values():
        twin = _made(there, one.address)
        is_twin = (one.mnemonic, _NUMBERS.findall(one.text)) == key and twin is not None and twin.size == made.size
        if is_twin and twin is not None and isinstance(twin.target, int) and _name(there, twin, one.end) == name:
            good = code.in_good(CodeAddress(module, one.address))
            yield SpreadableCopy(module.path, one.address, twin.target, good)


def _lines_alike(file: str, line: int) -> list[int]:
    """Of a source file: people copy code as well, and a table that grows is filled by another function than one that is
    searched. The line alone where its text is unknown."""
    if not line:
        return []
    texts = [text.strip() for text in lines_of(file)]
    own = texts[line - 1] if line <= len(texts) else ""
    return [number for number, text in enumerate(texts, 1) if text == own] if own else [line]


def _made(here: CodeHere, address: int) -> Definition | None:
    """The value that an instruction puts into a register."""
    made = (one for one in here.slicer.made_by(address) if one.kind in _MADE_BY and isinstance(one.target, int))
    return next((one for one in made if isinstance(one.target, int) and one.target >= 0), None)


def _name(here: CodeHere, made: Definition, end: int) -> str:
    variables = here.module.variables
    return "" if variables is None or made.target is None else variables.name_of(end, made.target)
