"""A binary as the rest of whyperf sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo import hints
from whyperf.debuginfo.basic_blocks.blocks import Blocks, find_blocks
from whyperf.debuginfo.basic_blocks.loops import RepeatedCode
from whyperf.debuginfo.code_maps.code_map import Bools, CodeMap, Int32s, ScopeKind
from whyperf.debuginfo.code_maps.places import Places, out_of_line_scopes, resolve, scopes_at
from whyperf.debuginfo.code_maps.string_table import Chosen, Texts
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.machines import Machine, machine_of

Debug = Literal["full", "symbols", "none"]


@dataclass(frozen=True, eq=False)
class Functions:
    """Source-level functions, parallel columns: copies and clones of one function are one row."""

    names: Sequence[str]
    """Qualified, without parameters."""
    files: Sequence[str]
    """Where it is defined; empty when unknown."""
    lines: Int32s
    order: Int32s
    """Tells functions of the same name and file apart: 0 for the first by line."""
    inlined: Bools
    """The binary holds no out-of-line copy."""

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True, eq=False, repr=False)
class Binary:
    path: str
    build_id: str
    debug: Debug
    note: str
    """What is missing or odd, in one sentence; mostly empty."""
    code: CodeMap
    elf: ElfFile | None
    """The file itself; None when it is gone."""
    _blocks: dict[int, Blocks | None] = field(default_factory=dict)
    _repeated: dict[int, RepeatedCode | None] = field(default_factory=dict)

    @cached_property
    def functions(self) -> Functions:
        code = self.code
        return Functions(
            code.function_name,
            Chosen(code.files, code.function_file),
            code.function_line,
            code.function_order,
            code.function_inlined,
        )

    @cached_property
    def machine(self) -> Machine | None:
        """Whose code it is; None where it cannot be read."""
        return machine_of(self.elf) if self.elf else None

    @property
    def files(self) -> Texts:
        """What `Places.file` numbers."""
        return self.code.files

    def resolve(self, addresses: npt.ArrayLike) -> Places:
        """Functions and lines at ELF virtual addresses."""
        return resolve(self.code, np.asarray(addresses, np.uint64))

    def block_of(self, addresses: npt.ArrayLike) -> Int32s:
        """Basic block of each address within its out-of-line function; -1 when unknown."""
        wanted = np.asarray(addresses, np.uint64)
        scope = out_of_line_scopes(self.code, wanted)
        block = np.full(len(wanted), -1, np.int32)
        for one in np.unique(scope[scope >= 0]).tolist():
            blocks = self._blocks_of(one)
            if blocks is not None:
                inside = scope == one
                block[inside] = blocks.of(wanted[inside])
        return block

    def in_loop(self, addresses: npt.ArrayLike) -> list[int]:
        """For each row that `resolve` gives for these addresses: 1 where a loop of the row's own function repeats the
        place (or the inlined call at it), 0 where none does, -1 when unknown."""
        wanted = np.asarray(addresses, np.uint64)
        innermost = scopes_at(self.code, wanted)
        outer = out_of_line_scopes(self.code, wanted)
        found: list[int] = []
        for address, inner, whole in zip(wanted.tolist(), innermost.tolist(), outer.tolist(), strict=True):
            repeated = self._repeated_code(whole) if whole >= 0 else None
            by = repeated.repeated_by(address) if repeated else set()
            scope = inner
            while scope >= 0:
                found.append(int(scope in by) if repeated else -1)
                scope = int(self.code.scope_parent[scope])
        return found

    def _repeated_code(self, scope: int) -> RepeatedCode | None:
        if scope not in self._repeated:
            blocks = self._blocks_of(scope)
            self._repeated[scope] = RepeatedCode(blocks, self.code) if blocks is not None else None
        return self._repeated[scope]

    def _blocks_of(self, scope: int) -> Blocks | None:
        if scope not in self._blocks:
            self._blocks[scope] = (
                find_blocks(self.machine, self.code, scope, self.never_return, self.elf.code)
                if self.elf and self.machine
                else None
            )
        return self._blocks[scope]

    @cached_property
    def never_return(self) -> frozenset[int]:
        """Entries of functions of which the debug information says so."""
        code = self.code
        chosen = (code.scope_parent < 0) & code.function_noreturn[code.scope_function]
        return frozenset(code.scope_entry[chosen].tolist())

    def scope_entered_at(self, address: int) -> int:
        """The out-of-line scope that starts there, -1 for none."""
        scope = int(out_of_line_scopes(self.code, np.array([address], np.uint64))[0])
        return scope if scope >= 0 and int(self.code.scope_entry[scope]) == address else -1

    def missing_debug_hint(self) -> str:
        """What would give more than symbols; empty when there is full debug information."""
        return "" if self.debug == "full" else hints.missing_debug_hint(self.path)

    def function_at(self, name: str) -> list[int]:
        """Functions that a user may mean by `name`: exactly so called, else qualified or templated ones."""
        names = self.code.function_name
        found = names.find(name)
        if not len(found):
            found = names.find_ending(f"::{name}")
        if not len(found):
            found = names.find_template(name)
        return [int(row) for row in found]

    def entry_addresses(self, function: int) -> list[int]:
        """ELF virtual addresses at which the function's out-of-line copies start; inlined copies have none."""
        code = self.code
        whole = (code.scope_kind == ScopeKind.FUNCTION) | (code.scope_kind == ScopeKind.SYMBOL)
        chosen = (code.scope_function == function) & (code.scope_parent < 0) & whole
        return [int(address) for address in np.unique(code.scope_entry[chosen])]

    def inlined_into(self, function: int) -> list[str]:
        """The out-of-line functions that hold copies of its body, one for each copy."""
        code = self.code
        copies = (code.scope_function == function) & (code.scope_kind == ScopeKind.INLINED)
        found = []
        for copy in np.flatnonzero(copies).tolist():
            scope = copy
            while (outer := int(code.scope_parent[scope])) >= 0:
                scope = outer
            found.append(self.functions.names[int(code.scope_function[scope])])
        return found

    def file_offset(self, address: int) -> int:
        """Where a virtual address lies in the file, as uprobes want it; -1 when it does not."""
        offset = self.elf.file_offset(address) if self.elf else None
        return -1 if offset is None else offset
