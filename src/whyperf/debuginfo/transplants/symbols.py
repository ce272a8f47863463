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

import numpy as np

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_SYMTAB = 2
_FILE = 4
_LOCAL = 0
_EXECUTABLE_TYPE = 2
_WRITE, _CODE, _THREAD_LOCAL = 1, 4, 0x400
_UNDEFINED = 0


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
        return _read(content) if content[:6] == b"\x7fELF\x02\x01" else None
    except (OSError, ValueError, struct.error, IndexError):
        return None


def _read(content: bytes) -> SymbolTable | None:
    (kind,) = struct.unpack_from("<H", content, 16)
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count, names_row = struct.unpack_from("<HHH", content, 58)
    rows = [_SECTION.unpack_from(content, table + size * row) for row in range(count)]
    names = _part(content, rows[names_row])
    symbols = next((_symbols(content, rows, row) for row in rows if row[1] == _SYMTAB), None)
    if not symbols:
        return None
    sections = (
        Section(_text(names, row[0]), row[3], row[5], bool(row[2] & _WRITE), bool(row[2] & _CODE))
        for row in rows
        if row[3] and not row[2] & _THREAD_LOCAL
    )
    return SymbolTable(symbols, sections, is_fixed=kind == _EXECUTABLE_TYPE)


def _symbols(content: bytes, rows: list[tuple[int, ...]], table: tuple[int, ...]) -> list[Symbol]:
    texts, part = _part(content, rows[table[6]]), _part(content, table)
    found: list[Symbol] = []
    file = ""
    kinds = frozenset(SymbolKind)
    for name, info, _, section, value, size in np.frombuffer(
        part[: len(part) // _SYMBOL.itemsize * _SYMBOL.itemsize], _SYMBOL
    ).tolist():
        if info & 15 == _FILE:
            file = _text(texts, name).rpartition("/")[2]
        elif info & 15 in kinds and section != _UNDEFINED:
            is_local = info >> 4 == _LOCAL
            found.append(Symbol(_text(texts, name), value, size, SymbolKind(info & 15), file if is_local else ""))
    return found


def _part(content: bytes, row: tuple[int, ...]) -> bytes:
    return content[row[4] : row[4] + row[5]]


def _text(texts: bytes, at: int) -> str:
    return texts[at : texts.index(b"\0", at)].decode(errors="replace")
