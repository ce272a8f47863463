"""Where variables are at an address, turned around: which variables a register or a place in memory is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.variable_tables.table import KINDS, SCOPES, LocationKind, VariablesTable

_BASE = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class VariablePlaces:
    """Which variables are where, as long as the code is within one segment of the table."""

    registers: Mapping[int, list[int]]
    slots: Mapping[int, list[int]]
    """By distance from the CFA."""
    near: Mapping[tuple[int, int], list[int]]
    """By register and distance from what it points to."""
    passed: frozenset[int]
    """Variables that are where a parameter of a function inlined here is."""


@dataclass(frozen=True)
class _Location:
    kind: LocationKind
    register: int
    offset: int
    variable: int
    fields: list[tuple[int, int]]


@dataclass
class Located:
    """Answers are kept: the segments of a table are many, and short."""

    table: VariablesTable
    globals: dict[int, int] = field(default_factory=dict)
    """By address."""
    fields: dict[tuple[int, int], int] = field(default_factory=dict)
    """By pointer and distance from what it points to; of pointers met so far."""
    _segments: dict[int, VariablePlaces] = field(default_factory=dict)
    _locations: dict[int, _Location] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.table.globals:
            location = self.table.locations[row]
            if location["kind"] == LocationKind.AT_ADDRESS:
                self.globals[int(location["address"])] = int(location["variable"])

    @cached_property
    def parameters(self) -> dict[int, tuple[int, int]]:
        """By function with any: how many are passed in general and in vector registers."""
        named: defaultdict[int, dict[str, bool]] = defaultdict(dict)
        variables = self.table.variables
        for number in np.flatnonzero(variables.scope == SCOPES.index("parameter")).tolist():
            name = variables.name[number]
            base = _BASE.search(name)
            if base is not None:
                is_float = name == base[0] and KINDS[variables.kind[number]] == "float"
                named[int(variables.function[number])][base[0]] = is_float
        return {function: (len(kinds) - sum(kinds.values()), sum(kinds.values())) for function, kinds in named.items()}

    def owner(self, variable: int) -> int:
        """The function's number; -1 for globals."""
        return int(self.table.variables.function[variable])

    def at(self, address: int) -> VariablePlaces:
        segment = int(np.searchsorted(self.table.segments["address"], address, side="right"))
        if segment not in self._segments:
            self._segments[segment] = self._located(self.table.at(address))
        return self._segments[segment]

    def _located(self, rows: list[int]) -> VariablePlaces:
        registers: defaultdict[int, list[int]] = defaultdict(list)
        slots: defaultdict[int, list[int]] = defaultdict(list)
        near: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for row in rows:
            one = self._location(row)
            if one.kind in (
                LocationKind.REGISTER,
                LocationKind.REGISTER_PLUS,
            ):  # plus: a step ahead of its variable, or behind
                registers[one.register].append(one.variable)
            elif one.kind is LocationKind.VECTOR:
                registers[VECTOR + one.register].append(one.variable)
            elif one.kind is LocationKind.AT_CFA:
                slots[one.offset].append(one.variable)
            elif one.kind is LocationKind.AT_REGISTER:
                near[one.register, one.offset].append(one.variable)
            if one.kind is LocationKind.REGISTER:
                for offset, variable in one.fields:
                    near[one.register, offset].append(variable)
        passed = frozenset(outer for together in registers.values() for outer in self._passed_to_inlined(together))
        return VariablePlaces(registers, slots, near, passed)

    def _passed_to_inlined(self, together: list[int]) -> Iterator[int]:
        """The innermost function's variables come first."""
        for at, outer in enumerate(together):
            inner = together[:at]
            if any(self._is_parameter(one) and self.owner(one) != self.owner(outer) for one in inner):
                yield outer

    def _location(self, row: int) -> _Location:
        if row not in self._locations:
            location = self.table.locations[row]
            first, variable = int(location["first_field"]), int(location["variable"])
            fields = self.table.fields[first : first + int(location["field_count"])]
            behind = [(int(one["offset"]), int(one["variable"])) for one in fields]
            self.fields |= {(variable, offset): one for offset, one in behind}
            kind, register = LocationKind(int(location["kind"])), int(location["reg"])
            self._locations[row] = _Location(kind, register, int(location["offset"]), variable, behind)
        return self._locations[row]

    def _is_parameter(self, variable: int) -> bool:
        return SCOPES[self.table.variables.scope[variable]] == "parameter"
