"""A file's symbols and sections: functions and data by name, static ones by the source file that they are of."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, islice, takewhile
from pathlib import Path

from whyperf.debuginfo.elf_files.elf import UNDEFINED, SectionRow, Sections, is_elf, sections_of

_SYMTAB = 2
_FILE = 4
_LOCAL = 0
_EXECUTABLE_TYPE = 2
_WRITE, _CODE, _THREAD_LOCAL = 1, 4, 0x400


class SymbolKind(IntEnum):
    """As ELF numbers them."""

    DATA = 1
    FUNCTION = 2
    THREAD_LOCAL = 6
    CHOSEN_WHEN_LOADED = 10


@dataclass(frozen=True)
class Symbol:
    name: str
    address: int
    size: int
    kind: SymbolKind
    file: str
    """The source file of a static one, without folder; empty for the others."""

    @property
    def end(self) -> int:
        return self.address + self.size


@dataclass(frozen=True)
class Section:
    name: str
    address: int
    size: int
    is_writable: bool
    is_code: bool


class SymbolTable:
    """Of an ELF file of 64 bits. Thread-local symbols have distances in place of addresses."""

    def __init__(self, symbols: Iterable[Symbol], sections: Iterable[Section], *, is_fixed: bool) -> None:
        self.is_fixed = is_fixed
        """It only runs at the addresses that the file gives."""
        self.sections = tuple(sections)
        self.symbols = sorted(symbols, key=lambda one: (one.address, one.name))
        self.thread_local = {one for one in self.symbols if one.kind is SymbolKind.THREAD_LOCAL}
        self._placed = [one for one in self.symbols if one.kind is not SymbolKind.THREAD_LOCAL]
        self._starts = [one.address for one in self._placed]
        self._reached = list(accumulate((one.end for one in self._placed), max))  # by each and those before it
        self._named: defaultdict[str, list[Symbol]] = defaultdict(list)
        self._ending: defaultdict[int, list[Symbol]] = defaultdict(list)
        for one in self._placed:
            self._named[one.name].append(one)
            self._ending[one.end].append(one)
        self._names = sorted(self._named)

    def named(self, name: str) -> list[Symbol]:
        return self._named.get(name, [])

    def starting_with(self, stem: str) -> list[Symbol]:
        names = takewhile(lambda name: name.startswith(stem), islice(self._names, bisect_left(self._names, stem), None))
        return [one for name in names for one in self._named[name]]

    def at(self, address: int) -> list[Symbol]:
        """Those that begin there."""
        first, last = bisect_left(self._starts, address), bisect_right(self._starts, address)
        return self._placed[first:last]

    def holding(self, address: int) -> list[Symbol]:
        """Those that the byte there belongs to; if none does, those without a size that begin there."""
        found = []
        for row in range(bisect_right(self._starts, address) - 1, -1, -1):
            if self._reached[row] <= address:
                break
            if address < self._placed[row].end:
                found.append(self._placed[row])
        return found or [one for one in self.at(address) if not one.size]

    def within(self, low: int, high: int) -> list[Symbol]:
        """Those with a size that begin there."""
        first, last = bisect_left(self._starts, low), bisect_left(self._starts, high)
        return [one for one in self._placed[first:last] if one.size]

    def ending_at(self, address: int) -> list[Symbol]:
        return [one for one in self._ending.get(address, []) if one.size]

    def section_at(self, address: int) -> Section | None:
        return next((one for one in self.sections if one.address <= address < one.address + one.size), None)


def read_symbols(path: Path) -> SymbolTable | None:
    """None for a file without symbols."""
    try:
        content = path.read_bytes()
        return _read(content) if is_elf(content) else None
    except (OSError, ValueError, struct.error, IndexError):
        return None


def _read(content: bytes) -> SymbolTable | None:
    (kind,) = struct.unpack_from("<H", content, 16)
    table = sections_of(content)
    symbols = next((_symbols(table, row) for row in table.rows if row.kind == _SYMTAB), None)
    if not symbols:
        return None
    sections = (
        Section(_text(table.names, row.name), row.address, row.size, bool(row.flags & _WRITE), bool(row.flags & _CODE))
        for row in table.rows
        if row.address and not row.flags & _THREAD_LOCAL
    )
    return SymbolTable(symbols, sections, is_fixed=kind == _EXECUTABLE_TYPE)


def _symbols(sections: Sections, table: SectionRow) -> list[Symbol]:
    rows, texts = sections.symbols(table)
    found: list[Symbol] = []
    file = ""
    kinds = frozenset(SymbolKind)
    for name, info, _, section, value, size in rows.tolist():
        if info & 15 == _FILE:
            file = _text(texts, name).rpartition("/")[2]
        elif info & 15 in kinds and section != UNDEFINED:
            is_local = info >> 4 == _LOCAL
            found.append(Symbol(_text(texts, name), value, size, SymbolKind(info & 15), file if is_local else ""))
    return found


def _text(texts: bytes, at: int) -> str:
    return texts[at : texts.index(b"\0", at)].decode(errors="replace")
