"""Which source functions differ between two builds, of those that became one function's code."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.code_maps.places import scopes_at
from whyperf.debuginfo.fingerprints import fingerprints
from whyperf.debuginfo.slices.module import ModuleCode, SourcePlace
from whyperf.origin.program_code import ProgramCode
from whyperf.origin.questions import CodeHere


@dataclass(frozen=True)
class Changed:
    place: SourcePlace
    """Where the source function is declared."""
    into: str
    """The function that it was inlined into; empty: it has code of its own."""


def changed_in(code: ProgramCode, here: CodeHere) -> list[Changed]:
    """Those that were inlined there first; the function itself only where none of them differs."""
    module = here.module
    whole = module.function_name(here.entry.address)
    good, bad = (_codes(one) for one in (code.good_build_of(module), module))
    functions = module.binary.functions
    found = []
    for row in _functions_in(here):
        name = functions.names[row]
        if good.get(name) != bad.get(name):
            place = SourcePlace(name, functions.files[row], int(functions.lines[row]))
            found.append(Changed(place, "" if name == whole else whole))
    return [one for one in found if one.into] or found


def _codes(module: ModuleCode) -> dict[str, frozenset[int]]:
    names = module.binary.functions.names
    seen = fingerprints(module.binary, np.zeros(0, np.int32))
    found: defaultdict[str, set[int]] = defaultdict(set)
    for function, code in zip(seen.function.tolist(), seen.code.tolist(), strict=True):
        found[names[function]].add(code)
    return {name: frozenset(codes) for name, codes in found.items()}


def _functions_in(here: CodeHere) -> list[int]:
    """Rows of the functions whose code is there, inlined ones too."""
    code = here.module.binary.code
    scopes = np.unique(scopes_at(code, here.slicer.function.flow.address))
    found: dict[int, None] = {}
    for one in scopes[scopes >= 0].tolist():
        scope = one
        while scope >= 0:
            found[int(code.scope_function[scope])] = None
            scope = int(code.scope_parent[scope])
    return list(found)
