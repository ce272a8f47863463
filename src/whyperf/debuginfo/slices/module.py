"""One binary's code for following values back: its functions as slicers, its places, variables and callees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.code_maps.places import lines_at, out_of_line_scopes
from whyperf.debuginfo.control_flow.function_flow import Flows
from whyperf.debuginfo.control_flow.linkage_stubs import imported_by_stub
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.image import Image
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.slices.function import SlicedFunction, SlicedInstruction, function_of
from whyperf.debuginfo.slices.slicer import Slicer
from whyperf.debuginfo.slices.variables import SlicedVariables
from whyperf.debuginfo.variable_tables.making import write_table

_CALLEE_DEPTH = 4
_MOST_SEARCHED_BYTES = 8 << 20
"""Of code that is looked through for calls: a second or two."""


@dataclass(frozen=True)
class SourcePlace:
    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Callee:
    name: str
    """Empty: called through a pointer."""
    entry: int | None
    """None: another module's."""


class ModuleCode:
    def __init__(self, path: Path, tables: Path) -> None:
        """`tables`: the folder where variables tables are kept."""
        self.path, self._tables = path, tables
        self._slicers: dict[int, Slicer | None] = {}
        self._changed: dict[int, frozenset[int]] = {}
        self._begins: dict[str, list[int]] = {}

    @cached_property
    def binary(self) -> Binary:
        return describe(str(self.path))

    @cached_property
    def image(self) -> Image | None:
        return Image(self.binary.elf) if self.binary.elf is not None else None

    @cached_property
    def _flows(self) -> Flows:
        return Flows(self.binary)

    @cached_property
    def variables(self) -> SlicedVariables | None:
        """None without debug information."""
        table = write_table(str(self.path), self.binary.build_id, self._tables)
        return SlicedVariables(table) if table is not None else None

    def slicer_at(self, address: int) -> Slicer | None:
        """Of the out-of-line function that holds an address."""
        scope = int(out_of_line_scopes(self.binary.code, np.array([address], np.uint64))[0])
        return self.slicer(scope) if scope >= 0 else None

    def slicer(self, scope: int) -> Slicer | None:
        if scope not in self._slicers:
            function = self._function(scope)
            self._slicers[scope] = Slicer(function, self._keeps) if function is not None else None
        return self._slicers[scope]

    def _function(self, scope: int) -> SlicedFunction | None:
        machine = self.binary.machine
        flow = self._flows.of(scope) if machine is not None else None
        if machine is None or flow is None or self.image is None:
            return None
        function = function_of(machine, flow, self.image)
        return function if len(function.code) == len(flow.address) and function.entry in function.row else None

    def _keeps(self, call: SlicedInstruction, register: int) -> bool:
        """Compilers know which registers a function of the same file does not use, and leave values there."""
        return call.target is not None and register not in self._changed_by(call.target, _CALLEE_DEPTH)

    def _changed_by(self, entry: int | None, depth: int) -> frozenset[int]:
        """Registers that the function which begins there may change, of those that calls may change."""
        machine = self.binary.machine
        assert machine is not None
        may = machine.registers.lost_in_calls
        if entry is None:
            return may
        if entry not in self._changed:
            self._changed[entry] = may  # what recursion assumes
            slicer = self.slicer(scope) if depth and (scope := self.binary.scope_entered_at(entry)) >= 0 else None
            if slicer is not None:
                self._changed[entry] = may & self._changed_in(slicer, depth)
        return self._changed[entry]

    def _changed_in(self, slicer: Slicer, depth: int) -> frozenset[int]:
        found: set[int] = set()
        for one in slicer.function.code:
            if one.step is FlowStep.CALL or slicer.is_tail_call(one):
                found |= self._changed_by(one.target, depth - 1)
            found |= {effect.target for effect in one.operation.effects if isinstance(effect.target, int)}
        return frozenset(found)

    def callee(self, call: SlicedInstruction) -> Callee:
        if call.target is None:
            if call.slot is not None and self.image is not None and call.slot in self.image.imports:
                return Callee(_plain(self.image.imports[call.slot]), None)
            return Callee("", None)
        return self.callee_at(call.target)

    def callee_at(self, entry: int) -> Callee:
        imported = self._imported_at(entry)
        if imported:
            return Callee(_plain(imported), None)
        scope = self.binary.scope_entered_at(entry)
        if scope < 0:
            return Callee("", None)
        return Callee(self.binary.functions.names[int(self.binary.code.scope_function[scope])], entry)

    def calls_of(self, entry: int) -> list[int]:
        """Addresses of the direct calls of a function, and of the jumps to it at other functions' ends; none where the
        code is too much to look through."""
        return self._calls.get(entry, [])

    @cached_property
    def _calls(self) -> dict[int, list[int]]:
        machine, image, code = self.binary.machine, self.image, self.binary.code
        found: dict[int, list[int]] = {}
        if machine is None or image is None or int((code.body_high - code.body_low).sum()) > _MOST_SEARCHED_BYTES:
            return found
        entries = set(code.scope_entry[code.scope_parent < 0].tolist())
        for low, high in zip(code.body_low.tolist(), code.body_high.tolist(), strict=True):
            for start, _size, mnemonic, operands in machine.rows(image.read(low, high - low), low):
                if machine.step(mnemonic) in (FlowStep.CALL, FlowStep.JUMP):
                    target = machine.direct_target(operands)
                    if target is not None and target in entries and not low < target < high:
                        found.setdefault(target, []).append(start)
        return found

    def _imported_at(self, entry: int) -> str:
        """Whose stub is there; empty where there is none."""
        machine, elf = self.binary.machine, self.binary.elf
        if machine is None or elf is None or self.image is None:
            return ""
        return imported_by_stub(elf, machine, self.image, entry) or ""

    def places(self, address: int) -> list[SourcePlace]:
        """The innermost inlined function at an address first."""
        found = self.binary.resolve([address])
        names = self.binary.functions.names
        return [
            SourcePlace(names[function], self.binary.files[file] if file >= 0 else "", line)
            for function, file, line in zip(
                found.function.tolist(), found.file.tolist(), found.line.tolist(), strict=True
            )
        ]

    def function_name(self, address: int) -> str:
        """Of the out-of-line function; empty when unknown."""
        places = self.places(address)
        return places[-1].function if places else ""

    def declared(self, address: int) -> SourcePlace | None:
        """Where the out-of-line function at an address is declared."""
        scope = int(out_of_line_scopes(self.binary.code, np.array([address], np.uint64))[0])
        if scope < 0:
            return None
        row, functions = int(self.binary.code.scope_function[scope]), self.binary.functions
        return SourcePlace(functions.names[row], functions.files[row], int(functions.lines[row]))

    def line(self, address: int) -> tuple[str, int]:
        file, line = lines_at(self.binary.code, np.array([address], np.uint64))
        return (self.binary.files[int(file[0])] if file[0] >= 0 else "", int(line[0]))

    def addresses_of_line(self, file: str, line: int) -> list[int]:
        """Where the code of a source line begins, each stretch once; `file` may lack leading folders."""
        code = self.binary.code
        wanted = [row for row, path in enumerate(self.binary.files) if path == file or path.endswith(f"/{file}")]
        rows = np.flatnonzero(np.isin(code.row_file, wanted) & (code.row_line == line))
        return [int(address) for address in code.row_address[rows].tolist()]

    def begins_of_functions(self, file: str) -> list[int]:
        """Lines of a file on which functions are declared."""
        if file not in self._begins:
            functions = self.binary.functions
            pairs = zip(functions.files, functions.lines.tolist(), strict=True)
            self._begins[file] = sorted({line for where, line in pairs if where == file})
        return self._begins[file]

    def ranges_of(self, functions: set[int]) -> list[tuple[int, int]]:
        """Addresses of the code of functions, given by their rows, wherever it was inlined."""
        code = self.binary.code
        inside = np.zeros(len(code.scope_parent) + 1, np.bool_)
        for scope, (function, parent) in enumerate(
            zip(code.scope_function.tolist(), code.scope_parent.tolist(), strict=True)
        ):
            inside[scope] = function in functions or (parent >= 0 and inside[parent])
        mine = inside[code.segment_scope] & (code.segment_scope >= 0)
        ends = np.append(code.segment_start[1:], code.segment_start[-1:] + 1)
        return list(zip(code.segment_start[mine].tolist(), ends[mine].tolist(), strict=True))

    def entries(self, name: str) -> list[int]:
        """Of a function's out-of-line copies."""
        found = {entry for row in self.binary.function_at(name) for entry in self.binary.entry_addresses(row)}
        return sorted(found)

    def whole_functions(self) -> Iterator[int]:
        """Scopes of all out-of-line functions."""
        code = self.binary.code
        yield from np.flatnonzero(code.scope_parent < 0).tolist()


def _plain(symbol: str) -> str:
    """Without its version."""
    return symbol.partition("@")[0]
