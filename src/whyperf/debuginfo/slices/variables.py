"""Where variables live over which addresses, and which variable lives in a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.debuginfo.machines.operations import VECTOR
from whyperf.debuginfo.slices.definitions import Location, MemoryOperand, StackSlot
from whyperf.debuginfo.variable_tables.locations import Located
from whyperf.debuginfo.variable_tables.table import KINDS, LocationKind, VariablesTable

_MEMBER = re.compile(r"->|\.")


@dataclass(frozen=True)
class VariablePlace:
    """A range begins right behind the instruction that gives the variable this value."""

    low: int
    high: int
    where: Location | MemoryOperand
    size: int


class SlicedVariables:
    def __init__(self, table: VariablesTable) -> None:
        self.table = table
        self._located = Located(table)

    def places(self, functions: set[int], path: str) -> list[VariablePlace]:
        """Of a local variable, a parameter or a member (`x`, `x.y`, `p->y`) of functions, given by their rows, and of
        globals of that name. Sorted by address."""
        rows = self._rows_named(functions, path)
        found: list[VariablePlace] = []
        for segment, (low, high) in enumerate(self._ranges):
            first, count = int(self.table.segments["first"][segment]), int(self.table.segments["count"][segment])
            for location in self.table.lists[first : first + count].tolist():
                for where, size in self._where(location, rows):
                    last = found[-1] if found else None
                    if last is not None and (last.where, last.high) == (where, low):
                        found[-1] = VariablePlace(last.low, high, where, size)
                    else:
                        found.append(VariablePlace(low, high, where, size))
        for location in self.table.globals.tolist():
            found += (VariablePlace(0, 1 << 62, where, size) for where, size in self._where(location, rows))
        return found

    def name_of(self, address: int, where: Location | MemoryOperand) -> str:
        """Of the innermost function's variable that lives in a place when the instruction at an address begins; empty
        if none does."""
        here = self._located.at(address)
        numbers: list[int] = []
        if isinstance(where, StackSlot):
            numbers = here.slots.get(where.offset, [])
        elif isinstance(where, MemoryOperand):
            if where.base is None and where.index is None:
                known = self._located.globals.get(where.displacement)
                numbers = [] if known is None else [known]
            elif where.index is None and where.base is not None:
                numbers = here.near.get((where.base, where.displacement), [])
        else:
            numbers = here.registers.get(where, [])
        return str(self.table.variables.name[numbers[0]]) if numbers else ""

    def global_at(self, address: int) -> tuple[str, str] | None:
        """Name and kind (of `KINDS`) of a number that lives at an address wherever the program is."""
        row = self._located.globals.get(address)
        return None if row is None else (self.table.variables.name[row], KINDS[self.table.variables.kind[row]])

    def parameters(self, functions: set[int]) -> int:
        """How many of a function's are passed in general registers."""
        return max((self._located.parameters.get(one, (0, 0))[0] for one in functions), default=0)

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        starts = self.table.segments["address"].tolist()
        return list(zip(starts, [*starts[1:], 1 << 32], strict=True))

    def _rows_named(self, functions: set[int], path: str) -> set[int]:
        wanted = _MEMBER.split(path)
        variables = self.table.variables
        mine = np.isin(variables.function, [*functions, -1])
        return {
            row
            for row in np.flatnonzero(mine).tolist()
            if (parts := _MEMBER.split(variables.name[row])) == wanted or parts == ["this", *wanted]
        }

    def _where(self, location: int, rows: set[int]) -> Iterator[tuple[Location | MemoryOperand, int]]:
        one = self.table.locations[location]
        kind, register, offset = LocationKind(int(one["kind"])), int(one["reg"]), int(one["offset"])
        size = int(one["size"])
        if int(one["variable"]) in rows:
            if kind in (LocationKind.REGISTER, LocationKind.REGISTER_PLUS):
                yield register, size
            elif kind is LocationKind.VECTOR:
                yield VECTOR + register, size
            elif kind is LocationKind.AT_CFA:
                yield StackSlot(offset, size), size
            elif kind is LocationKind.AT_REGISTER:
                yield MemoryOperand(register, None, 1, offset, size), size
            elif kind is LocationKind.AT_ADDRESS:
                yield MemoryOperand(None, None, 1, int(one["address"]), size), size
        if kind is LocationKind.REGISTER and int(one["field_count"]):
            first = int(one["first_field"])
            for member in self.table.fields[first : first + int(one["field_count"])]:
                size = int(member["size"])
                if int(member["variable"]) in rows:
                    yield MemoryOperand(register, None, 1, int(member["offset"]), size), size
