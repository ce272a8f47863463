"""Functions of a module whose code differs between two builds, as units that can be transplanted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.code_map import CodeMap, Int32s, ScopeKind
from whyperf.debuginfo.fingerprints import fingerprints
from whyperf.debuginfo.transplants.counterparts import source_of
from whyperf.debuginfo.transplants.module import TransplantModule
from whyperf.debuginfo.transplants.symbols import SymbolKind


@dataclass(frozen=True)
class ChangedSource:
    """A function as the source has it."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class ChangedFunction:
    """A function that the bad build has out of line."""

    symbol: str
    """Without what compilers add to the names of clones."""
    source: ChangedSource
    holds: frozenset[ChangedSource]
    """Those changed functions that it consists of: itself, and what was inlined into it."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.holds)


def changed_functions(good: Binary, bad: Binary, module: TransplantModule) -> list[ChangedFunction]:
    """In order of their addresses; `module` is the bad one."""
    before, after = _codes(good), _codes(bad)
    changed = {name for name, codes in after.items() if name in before and codes - before[name]}
    # What one build inlines and the other does not have at all shows in the functions around it.
    if not changed:
        return []
    code = bad.code
    root = _roots(code)
    held: defaultdict[int, set[ChangedSource]] = defaultdict(set)
    for scope in np.flatnonzero(root >= 0).tolist():
        source = _source(code, int(code.scope_function[scope]))
        if source.name in changed:
            held[int(root[scope])].add(source)
    whole = (ScopeKind.FUNCTION, ScopeKind.SYMBOL, ScopeKind.FRAGMENT)
    found: dict[str, ChangedFunction] = {}
    for scope in sorted(held, key=lambda row: int(code.scope_entry[row])):
        symbol = _symbol(module, int(code.scope_entry[scope])) if code.scope_kind[scope] in whole else ""
        if not symbol:
            continue
        holds = frozenset(held[scope]) | (found[symbol].holds if symbol in found else frozenset())
        found[symbol] = ChangedFunction(symbol, _source(code, int(code.scope_function[scope])), holds)
    return list(found.values())


def _source(code: CodeMap, function: int) -> ChangedSource:
    file = int(code.function_file[function])
    name = code.function_name[function]
    return ChangedSource(name, code.files[file] if file >= 0 else "", int(code.function_line[function]))


def _codes(binary: Binary) -> dict[str, set[int]]:
    every = fingerprints(binary, np.arange(len(binary.functions), dtype=np.int32))
    found: defaultdict[str, set[int]] = defaultdict(set)
    for function, code in zip(every.function.tolist(), every.code.tolist(), strict=True):
        found[binary.code.function_name[function]].add(code)
    return dict(found)


def _roots(code: CodeMap) -> Int32s:
    """Of each scope, the out-of-line scope that it is in."""
    root = np.arange(len(code.scope_parent), dtype=np.int32)
    while (inside := code.scope_parent[root] >= 0).any():
        root = np.where(inside, code.scope_parent[root], root)
    return root


def _symbol(module: TransplantModule, entry: int) -> str:
    names = [one.name for one in module.symbols.at(entry) if one.kind is SymbolKind.FUNCTION and one.size]
    sources = sorted({source_of(name.partition(".cold")[0]) for name in names})
    return sources[0] if sources else ""
