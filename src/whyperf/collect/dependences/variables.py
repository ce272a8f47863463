"""Variables that stay where they are, so that every change of them can be watched: globals, statics, their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.collect.sampling.sampler import tables_folder
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.variable_tables.making import VariablesTable, write_table
from whyperf.debuginfo.variable_tables.table import SCOPES, Flag, LocationKind
from whyperf.recording.symptom import is_file

_SIZES = (1, 2, 4, 8)
_QUALIFIED = re.compile(r"(?P<where>.*[^:]):(?P<name>[^:].*)")
_GLOBAL = SCOPES.index("global")


@dataclass(frozen=True)
class MemoryRange:
    address: int
    size: int


@dataclass(frozen=True)
class FoundVariables:
    places: tuple[MemoryRange, ...]
    others: frozenset[str]
    """If there is none of the name: names of the variables that could be watched ..."""
    locals_of: tuple[str, ...]
    """... and functions that have one of the name in a register or on the stack, where nothing can be watched."""


def find_variable(binary: Binary, wanted: str, folder: Path | None = None) -> FoundVariables:
    """`wanted`: a name, maybe after the file or the function that declares it: `cache.c:hits`, `find:calls`."""
    table = write_table(binary.path, binary.build_id, tables_folder() if folder is None else folder)
    if table is None:
        return FoundVariables((), frozenset(), ())
    qualified = _QUALIFIED.fullmatch(wanted)
    where, name = (qualified["where"], qualified["name"]) if qualified else ("", wanted)
    placed = list(_placed(table))
    mine = {place for variable, place in placed if _is_meant(binary, table, variable, name, where)}
    if mine:
        return FoundVariables(tuple(sorted(mine, key=lambda place: place.address)), frozenset(), ())
    others = {_spelled(binary, table, variable, where) for variable, _ in placed}
    functions = {
        _function(binary, table, variable)
        for variable in np.flatnonzero(table.variables.scope != _GLOBAL).tolist()
        if _is_meant(binary, table, variable, name, where)
    }
    return FoundVariables((), frozenset(others), tuple(sorted(functions)))


def _placed(table: VariablesTable) -> Iterator[tuple[int, MemoryRange]]:
    """Variables, by row, with where they are."""
    fixed = np.flatnonzero(table.locations["kind"] == LocationKind.AT_ADDRESS)
    for location in table.locations[fixed]:
        address, flags = int(location["address"]), int(location["flags"])
        if int(location["size"]) in _SIZES:
            yield int(location["variable"]), MemoryRange(address, int(location["size"]))
        if flags & Flag.POINTER:
            continue  # what it points to may move
        first, count = int(location["first_field"]), int(location["field_count"])
        for field in table.fields[first : first + count]:
            if int(field["size"]) in _SIZES and not int(field["scale"]):
                yield int(field["variable"]), MemoryRange(address + int(field["offset"]), int(field["size"]))


def _is_meant(binary: Binary, table: VariablesTable, variable: int, name: str, where: str) -> bool:
    if table.variables.name[variable] != name:
        return False
    return not where or is_file(table.variables.file[variable], where) or _function(binary, table, variable) == where


def _function(binary: Binary, table: VariablesTable, variable: int) -> str:
    function = int(table.variables.function[variable])
    return binary.functions.names[function] if function >= 0 else ""


def _spelled(binary: Binary, table: VariablesTable, variable: int, where: str) -> str:
    """As it may be asked for: with its function or file if the user named one."""
    name = table.variables.name[variable]
    declared = _function(binary, table, variable) or Path(table.variables.file[variable]).name
    return f"{declared}:{name}" if where else name
