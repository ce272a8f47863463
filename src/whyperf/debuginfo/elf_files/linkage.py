"""With which libraries a file is linked, by the names that the dynamic linker goes by."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from whyperf.debuginfo.elf_files.elf import ElfFile, read_elf

_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME = 1, 5, 10, 14
_ENTRY = struct.Struct("<qQ")
_MOST_BYTES = 1 << 22


@dataclass(frozen=True)
class Linkage:
    name: str  # what others link it by; empty when it has none
    needed: tuple[str, ...]


def read_linkage(path: Path) -> Linkage | None:
    """None for whatever is not a readable 64-bit little-endian ELF file; a static program needs nothing."""
    elf = read_elf(path)
    if elf is None:
        return None
    try:
        with path.open("rb") as file:
            entries = _dynamic(elf)
            start = next((elf.file_offset(value) for tag, value in entries if tag == _DT_STRTAB), None)
            size = next((value for tag, value in entries if tag == _DT_STRSZ), 0)
            texts = os.pread(file.fileno(), min(size, _MOST_BYTES), start) if start is not None else b""
    except (OSError, OverflowError, struct.error):
        return None
    named = [(tag, texts[at:].split(b"\0", 1)[0].decode(errors="replace")) for tag, at in entries if at < len(texts)]
    return Linkage(
        next((text for tag, text in named if tag == _DT_SONAME), ""),
        tuple(text for tag, text in named if tag == _DT_NEEDED),
    )


def _dynamic(elf: ElfFile) -> list[tuple[int, int]]:
    address, size = elf.dynamic
    content = elf.code(address, address + min(size, _MOST_BYTES))
    return list(_ENTRY.iter_unpack(content[: len(content) // _ENTRY.size * _ENTRY.size]))
