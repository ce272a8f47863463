"""A module of a program, as transplants need it: code, data, symbols, and the stubs by which it calls others."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from whyperf.debuginfo.control_flow.flow_instructions import decode
from whyperf.debuginfo.control_flow.jump_tables import table_targets
from whyperf.debuginfo.control_flow.no_return import never_returns_by_name
from whyperf.debuginfo.describe import describe
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.image import Image, RelocationSlot
from whyperf.debuginfo.machines import AARCH64 as AARCH64_MACHINE
from whyperf.debuginfo.machines import X86_64 as X86_64_MACHINE
from whyperf.debuginfo.machines import Machine, machine_of
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.probes.stretches import Stretch, stretches
from whyperf.debuginfo.transplants.aarch64 import AARCH64
from whyperf.debuginfo.transplants.coding import Coding
from whyperf.debuginfo.transplants.layouts import Layouts, read_layouts
from whyperf.debuginfo.transplants.references import CodePart, FunctionCode, WrittenReference
from whyperf.debuginfo.transplants.refused import RefusedError
from whyperf.debuginfo.transplants.symbols import Symbol, SymbolKind, SymbolTable, read_symbols
from whyperf.debuginfo.transplants.x86_64 import X86_64

_CODINGS = {AARCH64_MACHINE: AARCH64, X86_64_MACHINE: X86_64}

_FILLING = frozenset({"nop", "nopw", "int3", "udf", "hint"})
_COLD = ".cold"
_MOST_FUNCTIONS = 200


class TransplantModule:
    """RefusedError for a file from or to which nothing can be moved."""

    def __init__(self, path: Path) -> None:
        elf = read_elf(path)
        machine = machine_of(elf) if elf is not None else None
        if elf is None or machine is None:
            raise RefusedError(f"{path} holds no code of a known machine")
        symbols = read_symbols(path)
        if symbols is None:
            raise RefusedError(f"{path} has no symbol table")
        if not elf.build_id:
            raise RefusedError(f"{path} has no build-id")
        if symbols.is_fixed:
            raise RefusedError(f"{path} is not position-independent")
        self.path = path
        self.elf: ElfFile = elf
        self.machine: Machine = machine
        self.symbols: SymbolTable = symbols
        self.image = Image(elf)
        if self.image.has_packed_relocations:
            raise RefusedError(f"{path} has packed relocations (-z pack-relative-relocs)")
        self.coding: Coding = _CODINGS[machine]
        self._code: dict[int, FunctionCode] = {}
        self._layouts: dict[int, Layouts | None] = {}

    @cached_property
    def registers(self) -> ChangedRegisters:
        return ChangedRegisters(self.symbols, self.code_of, self.coding)

    def layouts(self, function: int) -> Layouts | None:
        """None where the debug information does not know it."""
        if function not in self._layouts:
            self.read_layouts({function})
        return self._layouts[function]

    def read_layouts(self, functions: Set[int]) -> None:
        """All at once, which takes as long as one."""
        if wanted := sorted(functions - self._layouts.keys()):
            found = read_layouts(self.path, wanted)
            self._layouts |= {function: found.get(function) for function in wanted}

    def is_linkage(self, address: int) -> bool:
        return self.elf.is_linkage(address)

    @cached_property
    def stubs(self) -> dict[str, int]:
        """Where other files' functions are called by way of, by symbol."""
        found: dict[str, int] = {}
        for low, high in self.elf.linkage:
            start: int | None = None
            for address, size, mnemonic, operands in self.machine.decoded(self.image.read(low, high - low), low).rows:
                if start is None and mnemonic not in _FILLING:
                    start = address
                if self.machine.step(mnemonic) is FlowStep.JUMP:
                    slot = self.machine.fixed_address(operands, address + size)
                    if start is not None and slot in self.image.imports:
                        found.setdefault(self.image.imports[slot], start)
                    start = None
        return found

    @cached_property
    def slot_of(self) -> dict[RelocationSlot, int]:
        """Where the dynamic linker puts what; not in variables, which the program may change."""
        places = ((slot, address) for address, slot in self.image.slots.items())
        return {slot: address for slot, address in places if not self.symbols.holding(address)}

    def pointers_to(self, variable: Symbol) -> set[int]:
        """Where the dynamic linker puts the address of a variable, or of a part of it, for code to find it by."""
        relative = self.machine.relocations.relative
        return {
            address
            for slot, address in self.slot_of.items()
            if slot.symbol == variable.name
            or (slot.kind == relative and variable.address <= slot.addend < variable.end)
        }

    @cached_property
    def imported_by(self) -> dict[int, str]:
        """The symbol that a stub stands for, by its address."""
        return {address: name for name, address in self.stubs.items()}

    @cached_property
    def stretches(self) -> dict[int, Stretch]:
        """What the unwind table says, by start."""
        return {one.low: one for one in stretches(self.elf, self.image)}

    def cold_parts(self, function: Symbol) -> list[Symbol]:
        """Split off as hardly ever executed."""
        return [
            one
            for one in self.symbols.starting_with(function.name + _COLD)
            if one.size and (not function.file or one.file == function.file)
        ]

    def code_of(self, function: Symbol) -> FunctionCode:
        if function.address not in self._code:
            self._code[function.address] = self._read_code(function)
        return self._code[function.address]

    def _read_code(self, function: Symbol) -> FunctionCode:
        whole = [function, *self.cold_parts(function)]
        parts = [CodePart(one.address, self.image.read(one.address, one.size)) for one in whole]
        if any(not part.content for part in parts):
            raise RefusedError(f"the file does not hold the code of {function.name}")
        parts.sort(key=lambda one: one.low)
        code = [one for part in parts for one in decode(self.machine, part.content, part.low)]
        tables = table_targets(code, self.image)
        if any(not targets for targets in tables.values()):
            # Then it may lead to whatever is not reached from above.
            anywhere = [two.address for one, two in pairwise(code) if one.step in (FlowStep.JUMP, FlowStep.STOP)]
            tables = {jump: targets or anywhere for jump, targets in tables.items()}
        landings: set[int] = set()
        for part in parts:
            stretch = self.stretches.get(part.low)
            if stretch is not None:
                if stretch.landings is None:
                    raise RefusedError("where exceptions land in it is not known")
                landings |= stretch.landings
        called = {one.target for one in code if one.step is FlowStep.CALL and one.target is not None}
        ended_by = frozenset(filter(self._never_returns, called))
        return FunctionCode(tuple(parts), code, tables, frozenset(landings), ended_by)

    def _never_returns(self, function: int) -> bool:
        if function in self.imported_by:
            return never_returns_by_name(self.imported_by[function])
        return function in self._ends

    @cached_property
    def _ends(self) -> frozenset[int]:
        return describe(str(self.path)).never_return


class ChangedRegisters:
    """Which registers a function changes, with all that it calls.

    Compilers know that of functions in the same source file, and let callers keep values in registers that the function
    leaves alone (gcc: -fipa-ra). A transplanted function must leave the same ones alone.
    """

    def __init__(self, symbols: SymbolTable, code_of: Callable[[Symbol], FunctionCode], coding: Coding) -> None:
        self._symbols, self._code_of, self._coding = symbols, code_of, coding
        self._written: dict[int, WrittenReference | None] = {}
        self._found: dict[int, frozenset[int]] = {}

    def by(self, function: int) -> frozenset[int]:
        """At most so many: all, where it leads to code that is not known."""
        if function not in self._found:
            self._found[function] = self._all(function)
        return self._found[function]

    def _all(self, function: int) -> frozenset[int]:
        changed: set[int] = set()
        known, work = {function}, [function]
        while work:
            one = self._of(work.pop())
            if one is None or one.leads_anywhere or len(known) > _MOST_FUNCTIONS:
                return self._coding.lost
            changed |= one.registers
            work += one.leads_to - known
            known |= one.leads_to
        return frozenset(changed)

    def _of(self, function: int) -> WrittenReference | None:
        if function not in self._written:
            self._written[function] = self._read(function)
        return self._written[function]

    def _read(self, function: int) -> WrittenReference | None:
        symbols = [one for one in self._symbols.at(function) if one.kind is SymbolKind.FUNCTION and one.size]
        if not symbols:
            return None  # another file's, or chosen when loaded
        try:
            return self._coding.written_in(self._code_of(symbols[0]))
        except RefusedError:
            return None
