"""Names of the kernel's functions: from perf's cache of the very kernel, or from the running one if it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer import kallsyms
from whyperf.collect.tracer.traced import KernelSymbol
from whyperf.debuginfo.elf_files.perf_cache import cached_files
from whyperf.importers.perf_data.bookkeeping import MappedRange

KERNEL = "[kernel.kallsyms]"
_RUNNING = Path("/proc/kallsyms")
_WRAP = 1 << 64


@dataclass(frozen=True)
class ImportedKernelNames:
    symbols: dict[int, KernelSymbol]  # by address, as stacks hold them
    base: int  # address of _text when it was recorded; 0: unknown
    build_id: str  # of the kernel, where it is known
    note: str  # why there are no names; mostly empty


def kernel_names(addresses: npt.NDArray[np.uint64], mappings: list[MappedRange], build_id: str) -> ImportedKernelNames:
    """`addresses` of which names are wanted; `mappings` of the kernel as perf wrote them down."""
    own = next((one for one in mappings if one.path.startswith(KERNEL)), None)
    base = (own.file_offset or own.start) if own else 0
    build_id = build_id or (own.build_id if own else "")
    if not len(addresses):
        return ImportedKernelNames({}, base, build_id, "")
    for path in _tables(build_id):
        names = kallsyms.KernelNames(path)
        if names and names.base:
            # Another boot of the same kernel has it all elsewhere by the same distance.
            shift = (base or names.base) - names.base
            found = names.at((addresses - np.uint64(shift % _WRAP)).tolist())
            symbols = {(address + shift) % _WRAP: symbol for address, symbol in found.items()}
            return ImportedKernelNames(symbols, base or names.base, build_id, "")
    why = "its symbols are not to be had here (perf keeps them on the machine that recorded)"
    return ImportedKernelNames({}, base, build_id, f"Functions of the kernel have no names: {why}.")


def _tables(build_id: str) -> Iterator[Path]:
    yield from (path for path in cached_files(build_id) if path.name == "kallsyms")
    if not build_id or build_id == kallsyms.kernel_build_id():
        yield _RUNNING
