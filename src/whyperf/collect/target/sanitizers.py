"""Sanitizers whose run-time library must be loaded before every other one.

AddressSanitizer ends a program in which it is not; ThreadSanitizer behind us would keep our signals back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.debuginfo.elf_files.elf import ElfFile

_RUNTIMES = tuple(
    name.encode()
    for name in (
        *("libasan.so", "libhwasan.so", "libtsan.so"),
        *("libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan"),
    )
)
"""As native/sampler/follow.c has them."""
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10
_DYNAMIC_MAX, _STRINGS_MAX = 1 << 20, 1 << 26


def first_libraries(program: Path) -> list[str]:
    """The names under which the program asks for such run-time libraries."""
    from whyperf.debuginfo.elf_files.elf import read_elf

    elf = read_elf(program)
    if elf is None:
        return []
    return [name.decode(errors="surrogateescape") for name in _needed(elf) if name.startswith(_RUNTIMES)]


def _needed(elf: ElfFile) -> Iterator[bytes]:
    low, size = elf.dynamic
    entries = list(struct.iter_unpack("<qQ", elf.code(low, low + min(size, _DYNAMIC_MAX) // 16 * 16))) if size else []
    place = dict(entries)
    strings = place.get(_DT_STRTAB, 0)
    content = elf.code(strings, strings + min(place.get(_DT_STRSZ, 0), _STRINGS_MAX)) if strings else b""
    for tag, value in entries:
        if tag == _DT_NEEDED and value < len(content):
            yield content[value:].partition(b"\0")[0]
