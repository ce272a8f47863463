"""Variables by name, from an ELF file's symbol tables: static ones too, and without debug information."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_OBJECT = 1
_UNDEFINED = 0


@dataclass(frozen=True)
class DataSymbol:
    name: str
    address: int
    size: int


def data_symbols(path: Path, names: frozenset[str]) -> Iterator[DataSymbol]:
    """Those of the names that the file defines; none where it cannot be read or is no 64-bit ELF file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:6] == b"\x7fELF\x02\x01":
                yield from _defined(content, {name.encode(): name for name in names})
    except (OSError, ValueError, struct.error, IndexError):
        return


def _defined(content: mmap.mmap, wanted: dict[bytes, str]) -> Iterator[DataSymbol]:
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [_SECTION.unpack_from(content, table + size * row) for row in range(count)]
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind not in _SYMBOL_TABLES:
            continue
        texts = sections[link][4]
        for name, info, _, section, address, bytes_ in _SYMBOL.iter_unpack(
            content[offset : offset + length - length % _SYMBOL.size]
        ):
            if info & 0xF != _OBJECT or section == _UNDEFINED:
                continue
            text = content[texts + name : content.find(b"\0", texts + name)]
            if text in wanted:
                yield DataSymbol(wanted[text], address, bytes_)
