"""What a variable is called, and which function uses it first in a bad run: what it begins with matters there."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from whyperf.collect.observation.plans import MOST_SITES
from whyperf.collect.observation.sites import ObservedSite
from whyperf.collect.sampling.sampler import tables_folder
from whyperf.debuginfo.slices.module import ModuleCode, SourcePlace
from whyperf.debuginfo.transplants.initial_values import ChangedVariable
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind
from whyperf.proof.search import Search

_FLOATS = {4: "<f", 8: "<d"}
_WHOLE = (1, 2, 4, 8)
_Change = TypeVar("_Change")


@dataclass(frozen=True)
class InitialTexts:
    name: str
    good: str
    """Values as people write them; empty: it is no number, or the debug information does not know it."""
    bad: str


def texts_of(module: TransplantModule, variable: ChangedVariable) -> InitialTexts:
    """`module` is the bad one."""
    variables = ModuleCode(module.path, tables_folder()).variables
    known = None if variables is None else variables.global_at(variable.bad.address)
    if known is None:
        return InitialTexts(variable.name, "", "")
    name, kind = known
    (first, *more), size = variable.different, variable.bad.size
    if more or first.at or len(first.bad) != size or size not in _WHOLE:
        return InitialTexts(name, "", "")
    return InitialTexts(name, *(_text(one, kind) for one in (first.good, first.bad)))


def _text(content: bytes, kind: str) -> str:
    if kind == "float" and len(content) in _FLOATS:
        return f"{struct.unpack(_FLOATS[len(content)], content)[0]:g}"
    return f"{int.from_bytes(content, 'little', signed=kind == 'signed'):,}"


def first_use(module: TransplantModule, variable: Symbol, search: Search[_Change]) -> SourcePlace | None:
    """None where no use can be seen, or no time is left to look."""
    functions = [one for one in module.symbols.symbols if one.kind is SymbolKind.FUNCTION and one.size]
    entered = [one for some in _parts(functions) for one in _entered(module, some, search)]
    sites = [ObservedSite(module.path, one) for function in entered for one in uses(module, function, variable)]
    first = None if search.is_time_up or not sites else search.first_passed(sites[:MOST_SITES])
    places = [] if first is None else ModuleCode(module.path, tables_folder()).places(sites[first].address)
    return next(iter(places), None)


def _parts(functions: Sequence[Symbol]) -> Iterator[Sequence[Symbol]]:
    for start in range(0, len(functions), MOST_SITES):
        yield functions[start : start + MOST_SITES]


def _entered(module: TransplantModule, functions: Sequence[Symbol], search: Search[_Change]) -> list[Symbol]:
    if search.is_time_up:
        return []
    passed = search.is_passed([ObservedSite(module.path, one.address) for one in functions])
    return [one for one, is_passed in zip(functions, passed, strict=True) if is_passed]


def uses(module: TransplantModule, function: Symbol, variable: Symbol) -> Iterator[int]:
    """Instructions that access a variable, or take its address."""
    try:
        code = module.code_of(function)
        found = module.coding.references(code, module.registers.by)
    except RefusedError:
        return
    pointers = module.pointers_to(variable)
    starts = [one.address for one in code.instructions]
    for one in found.all:
        for end in one.ends:
            reaches_it = end.target < variable.end and end.target + end.size > variable.address
            if reaches_it or end.target in pointers:
                site = end.site if end.site is not None else one.sites[-1]
                yield starts[bisect.bisect_right(starts, site) - 1]  # the site may be a distance in an instruction
