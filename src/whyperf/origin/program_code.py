"""The binaries that take part: whose code lies at an address of a run, and where the other build has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

from whyperf.collect.target.module_layers import is_system_library
from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf
from whyperf.debuginfo.machines.machine import FlowStep
from whyperf.debuginfo.slices.function import SlicedInstruction
from whyperf.debuginfo.slices.module import ModuleCode
from whyperf.debuginfo.slices.slicer import Slicer

SYSTEM_SOURCES = ("/usr/include/", "/usr/lib/")
_OWN = "libwhyperf_"
_FILLERS = ("nop", "endbr64", "bti")
_ADDRESS = re.compile(r"0x[0-9a-f]{3,}")


class BuildSide(IntEnum):
    GOOD = 0
    BAD = 1


@dataclass(frozen=True, eq=False)
class CodeAddress:
    """An instruction of the bad build, as its file counts."""

    module: ModuleCode
    address: int

    @property
    def key(self) -> tuple[Path, int]:
        return self.module.path, self.address

    @cached_property
    def slicer(self) -> Slicer | None:
        return self.module.slicer_at(self.address)

    @property
    def in_words(self) -> str:
        line = self.module.line(self.address)[1]
        return f"{self.module.function_name(self.address)}(){f' in line {line}' if line else ''}"


Modules = Sequence[tuple[str, int]]
"""Paths and biases of what a run loaded."""


class ProgramCode:
    """Everything is said in terms of the bad build; what the good one has at another address is translated."""

    def __init__(self, good: Path, bad: Path, tables: Path) -> None:
        self._tables = tables
        self._good, self._bad = good.resolve(), bad.resolve()
        self._modules: dict[Path, ModuleCode] = {}
        self._files: dict[str, ElfFile | None] = {}
        self._mapped: dict[tuple[Path, int], dict[int, int] | None] = {}
        self._others = {} if self._is_one_build() else {self._bad: self._good}
        """Where the good build has its own file for one of the bad one's."""

    def _is_one_build(self) -> bool:
        files = [read_elf(path) for path in (self._good, self._bad)]
        return self._good == self._bad or (
            files[0] is not None and files[1] is not None and files[0].build_id == files[1].build_id != ""
        )

    def module(self, path: Path) -> ModuleCode:
        found = path.resolve()
        if found not in self._modules:
            self._modules[found] = ModuleCode(found, self._tables)
        return self._modules[found]

    @property
    def program(self) -> ModuleCode:
        return self.module(self._bad)

    def good_build_of(self, module: ModuleCode) -> ModuleCode:
        return self.module(self._others.get(module.path, module.path))

    def at(self, path: Path, address: int) -> CodeAddress:
        return CodeAddress(self.module(path), address)

    def locate(self, side: BuildSide, modules: Modules, address: int) -> CodeAddress | None:
        """None where no code lies, or code of the good build that the bad one does not have."""
        found = self._within(modules, address)
        if found is None:
            return None
        path, own = found
        mine = next((bad for bad, good in self._others.items() if good == path), None)
        if side is BuildSide.GOOD and mine is not None:
            back = self._translated(self.module(path), self.module(mine), own)
            return None if back is None else self.at(mine, back)
        return self.at(path, own)

    def is_program(self, module: ModuleCode) -> bool:
        """Whether values are followed through its code: not through that of the system's libraries."""
        return not is_system_library(str(module.path)) and not module.path.name.startswith(_OWN)

    def in_good(self, at: CodeAddress) -> tuple[Path, int] | None:
        """Where the good build has the same instruction; None where its function's code is another."""
        other = self._others.get(at.module.path, at.module.path)
        if other == at.module.path:
            return at.key
        found = self._translated(at.module, self.module(other), at.address)
        return None if found is None else (other, found)

    def pair_libraries(self, good: Modules, bad: Modules) -> bool:
        """Takes libraries of the same name for builds of the same one; whether there are such that were not known."""
        paths = [{Path(name).resolve() for name, _ in modules if name.startswith("/")} for modules in (good, bad)]
        by_name = {path.name: path for path in paths[0] - paths[1]}
        found = {path: by_name[path.name] for path in paths[1] - paths[0] if path.name in by_name}
        new = {path: other for path, other in found.items() if path not in self._others}
        self._others |= new
        return bool(new)

    def _within(self, modules: Modules, address: int) -> tuple[Path, int] | None:
        for name, bias in modules:
            if name not in self._files:
                self._files[name] = read_elf(Path(name)) if name.startswith("/") else None
            elf = self._files[name]
            if elf is None:
                continue
            if any(one.address <= address - bias < one.address + one.file_size for one in elf.segments):
                return Path(name).resolve(), address - bias
        return None

    def _translated(self, module: ModuleCode, other: ModuleCode, address: int) -> int | None:
        slicer = module.slicer_at(address)
        if slicer is None:
            return None
        key = module.path, slicer.function.entry
        if key not in self._mapped:
            self._mapped[key] = _same_code(module, slicer, other)
        mapped = self._mapped[key]
        return None if mapped is None else mapped.get(address)


def is_of_system(module: ModuleCode, address: int) -> bool:
    """Whether the code at an address comes from a system's header."""
    places = module.places(address)
    return bool(places) and places[0].file.startswith(SYSTEM_SOURCES)


def _same_code(module: ModuleCode, slicer: Slicer, other: ModuleCode) -> dict[int, int] | None:
    """Addresses of a function's instructions in another build; None where that has other code for it."""
    name = module.function_name(slicer.function.entry)
    for entry in other.entries(name):
        twin = other.slicer_at(entry)
        mine, others = _working(slicer), _working(twin) if twin is not None else []
        if len(mine) != len(others):
            continue
        pairs = list(zip(mine, others, strict=True))
        if all(_alike(module, one, other, another) for one, another in pairs):
            return {one.address: another.address for one, another in pairs}
    return None


def _working(slicer: Slicer) -> list[SlicedInstruction]:
    """Without what only fills up, so that loops begin at round addresses."""
    return [one for one in slicer.function.code if one.mnemonic not in _FILLERS]


def _alike(module: ModuleCode, one: SlicedInstruction, other: ModuleCode, another: SlicedInstruction) -> bool:
    if one.text == another.text:
        return True
    if one.step is FlowStep.CALL and another.step is FlowStep.CALL:
        return module.callee(one).name == other.callee(another).name
    # Addresses move from build to build: what is left must be the same.
    return _ADDRESS.sub("", one.text) == _ADDRESS.sub("", another.text)
