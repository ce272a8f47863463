"""Addresses that a file's data hold, and that other files find by name: places that may be entered from anywhere."""

from __future__ import annotations

import numpy as np

from whyperf.debuginfo.code_maps.code_map import Addresses
from whyperf.debuginfo.elf_files.elf import ElfFile
from whyperf.debuginfo.image import Image

_WORD = 8


def pointed_at(elf: ElfFile, image: Image, *, among_code: bool = False) -> Addresses:
    """Sorted. What only looks like an address is among them: too many do no harm.

    `among_code`: there may be data in executable segments.
    """
    found = [np.fromiter(image.exports.values(), np.uint64), image.relocated]
    for segment in elf.segments:
        if among_code or not segment.executable:
            content = image.read(segment.address, segment.file_size)
            # Pointers lie at multiples of their size.
            content = content[-segment.address % _WORD :]
            found.append(np.frombuffer(content[: len(content) // _WORD * _WORD], "<u8"))
    every = np.unique(np.concatenate(found))
    in_code = np.zeros(len(every), np.bool_)
    for segment in elf.segments:
        if segment.executable:
            in_code |= (every >= segment.address) & (every < segment.address + segment.file_size)
    return every[in_code]
