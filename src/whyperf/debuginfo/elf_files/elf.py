"""The little of ELF that must be known before and beside the native reader: build-id, segments, sections, symbols."""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_PT_LOAD, _PT_DYNAMIC, _PT_NOTE, _PT_GNU_EH_FRAME = 1, 2, 4, 0x6474E550
_NT_GNU_BUILD_ID = 3
_PF_X, _PF_W = 1, 2
_NOTES_MAX = 1 << 20
_BUILD_ID_MAX = 64
_SECTION_NAMES_MAX = 1 << 20
_MAGIC = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQI20x")  # as `SectionRow`
_FILE_OFFSET_MAX = 1 << 63


SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
UNDEFINED = 0  # the section of a symbol that another file defines


class SectionRow(NamedTuple):
    """A row of the section table."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class Segment:
    address: int
    file_offset: int
    file_size: int
    executable: bool
    writable: bool


@dataclass(frozen=True)
class ElfFile:
    """An ELF file as it lies on disk."""

    path: Path
    build_id: str
    machine: int
    """`e_machine`: whose code it holds."""
    segments: tuple[Segment, ...]
    size: int
    modified_ns: int
    layout: int
    """A checksum of the addresses: tells files apart that share a build-id but not their layout."""
    unwind_index: tuple[int, int]
    """Address and size of `.eh_frame_hdr`; zeros when there is none."""
    dynamic: tuple[int, int]
    """Address and size of what the dynamic linker reads; zeros when there is nothing."""
    linkage: tuple[tuple[int, int], ...]
    """Address ranges of the stubs through which other files' functions are called: `.plt` and its kin."""

    def file_offset(self, address: int) -> int | None:
        """Where the byte at an ELF virtual address lies in the file."""
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.file_size:
                return address - segment.address + segment.file_offset
        return None

    def is_linkage(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.linkage)

    def code(self, low: int, high: int) -> bytes:
        """The bytes between two virtual addresses; empty when the file does not hold them."""
        start = self.file_offset(low)
        if start is None or self.file_offset(high - 1) != start + high - 1 - low or start + high - low > self.size:
            return b""
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read(high - low)
        except OSError:
            return b""


def read_elf(path: Path) -> ElfFile | None:
    """None for whatever is not a readable 64-bit little-endian ELF file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        return _parse(path, descriptor)
    except (OSError, OverflowError, struct.error):
        return None
    finally:
        os.close(descriptor)


def _parse(path: Path, descriptor: int) -> ElfFile | None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    header = os.pread(descriptor, 64, 0)
    if not is_elf(header):
        return None
    (machine,) = struct.unpack_from("<H", header, 18)
    (table_offset,) = struct.unpack_from("<Q", header, 32)
    entry_size, count = struct.unpack_from("<HH", header, 54)
    if entry_size != 56:
        return None
    table = os.pread(descriptor, entry_size * count, table_offset)
    segments, build_id, unwind_index, dynamic = [], "", (0, 0), (0, 0)
    for start in range(0, len(table) - entry_size + 1, entry_size):
        kind, flags, offset, address, _, file_size, _, align = struct.unpack_from("<IIQQQQQQ", table, start)
        if kind == _PT_LOAD:
            segments.append(Segment(address, offset, file_size, bool(flags & _PF_X), bool(flags & _PF_W)))
        elif kind == _PT_GNU_EH_FRAME:
            unwind_index = (address, file_size)
        elif kind == _PT_DYNAMIC:
            dynamic = (address, file_size)
        elif kind == _PT_NOTE and not build_id:
            notes = os.pread(descriptor, min(file_size, _NOTES_MAX), offset)
            build_id = build_id_in_notes(notes, 8 if align == 8 else 4)
    addresses = [(s.address, s.executable) for s in segments]
    layout = zlib.crc32(repr(addresses).encode(), zlib.crc32(header[16:32]))
    return ElfFile(
        path,
        build_id,
        machine,
        tuple(segments),
        status.st_size,
        status.st_mtime_ns,
        layout,
        unwind_index,
        dynamic,
        tuple(_linkage_sections(descriptor, header)),
    )


def _linkage_sections(descriptor: int, header: bytes) -> Iterator[tuple[int, int]]:
    (table_offset,) = struct.unpack_from("<Q", header, 40)
    entry_size, count, names_row = struct.unpack_from("<HHH", header, 58)
    if entry_size != _SECTION.size or table_offset >= _FILE_OFFSET_MAX:
        return
    table = os.pread(descriptor, entry_size * count, table_offset)
    rows = [SectionRow(*row) for row in _SECTION.iter_unpack(table[: len(table) // entry_size * entry_size])]
    if names_row >= len(rows) or rows[names_row].offset >= _FILE_OFFSET_MAX:
        return
    names = os.pread(descriptor, min(rows[names_row].size, _SECTION_NAMES_MAX), rows[names_row].offset)
    for row in rows:
        if row.address and names[row.name : row.name + 5] in (b".plt\0", b".plt."):
            yield row.address, row.address + row.size


def is_elf(content: bytes | mmap) -> bool:
    """Whether a 64-bit little-endian ELF file begins so."""
    return content[:6] == _MAGIC


@dataclass(frozen=True, eq=False)
class Sections:
    """The section table of a whole file. struct.error or IndexError where the file is damaged."""

    content: bytes | mmap
    rows: tuple[SectionRow, ...]
    names_row: int

    @property
    def names(self) -> bytes:
        return self.part(self.rows[self.names_row])

    def part(self, row: SectionRow) -> bytes:
        return self.content[row.offset : row.offset + row.size]

    def symbols(self, row: SectionRow) -> tuple[npt.NDArray[np.void], bytes]:
        """Of a symbol table: its symbols, and the texts that their names are in."""
        return symbols_in(self.part(row)), self.part(self.rows[row.link])


def sections_of(content: bytes | mmap) -> Sections:
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count, names_row = struct.unpack_from("<HHH", content, 58)
    rows = tuple(SectionRow(*_SECTION.unpack_from(content, table + size * row)) for row in range(count))
    return Sections(content, rows, names_row)


def symbols_in(content: bytes) -> npt.NDArray[np.void]:
    return np.frombuffer(content[: len(content) // SYMBOL.itemsize * SYMBOL.itemsize], SYMBOL)


def build_id_in_notes(notes: bytes, align: int) -> str:
    """In hexadecimal; empty when none of the notes is one."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        content = at + 12 + -(-name_size // align) * align
        if kind == _NT_GNU_BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0" and 0 < size <= _BUILD_ID_MAX:
            return notes[content : content + size].hex()
        at = content + -(-size // align) * align
    return ""
