"""Variables and functions by name, from an ELF file's symbol tables: static ones too, and without debug information."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyperf.debuginfo.elf_files.elf import UNDEFINED, is_elf, sections_of

_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_OBJECT, _FUNCTION = 1, 2


@dataclass(frozen=True)
class NamedSymbol:
    name: str
    address: int
    size: int


def data_symbols(path: Path, names: frozenset[str]) -> Iterator[NamedSymbol]:
    """Variables of these names that the file defines; none where it cannot be read or is no 64-bit ELF file."""
    return _symbols(path, names, _OBJECT)


def function_symbols(path: Path, names: frozenset[str]) -> Iterator[NamedSymbol]:
    """The same of functions, C++ ones by their mangled names."""
    return _symbols(path, names, _FUNCTION)


def _symbols(path: Path, names: frozenset[str], kind: int) -> Iterator[NamedSymbol]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if is_elf(content):
                yield from _defined(content, names, kind)
    except (OSError, ValueError, struct.error, IndexError):
        return


def _defined(content: mmap.mmap, names: frozenset[str], wanted: int) -> Iterator[NamedSymbol]:
    sections = sections_of(content)
    for row in sections.rows:
        if row.kind not in _SYMBOL_TABLES:
            continue
        symbols, texts = sections.symbols(row)
        symbols = symbols[(symbols["info"] & 0xF == wanted) & (symbols["section"] != UNDEFINED)]
        for name in names:
            for symbol in symbols[np.isin(symbols["name"], list(_places(texts, name.encode() + b"\0")))]:
                yield NamedSymbol(name, int(symbol["value"]), int(symbol["size"]))


def _places(texts: bytes, text: bytes) -> Iterator[int]:
    """Where it stands; also as the end of a longer one, which linkers let names share."""
    at = texts.find(text)
    while at >= 0:
        yield at
        at = texts.find(text, at + 1)
