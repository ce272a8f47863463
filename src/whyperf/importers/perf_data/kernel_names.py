"""Names of the kernel's functions: from perf's cache of the very kernel, or from the running one if it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.traced import KernelSymbol
from whyperf.debuginfo.perf_cache import cached_files
from whyperf.importers.perf_data.bookkeeping import Mapped

KERNEL = "[kernel.kallsyms]"
_RUNNING = Path("/proc/kallsyms")
_NOTES = Path("/sys/kernel/notes")
_FIRST_KERNEL_ADDRESS = 1 << 63
_CODE = frozenset("tTwW")
_BUILD_ID_NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"


@dataclass(frozen=True)
class KernelNames:
    symbols: dict[int, KernelSymbol]  # by address, as stacks hold them
    base: int  # address of _text when it was recorded; 0: unknown
    note: str  # why there are no names; mostly empty


def kernel_names(addresses: npt.NDArray[np.uint64], mappings: list[Mapped], build_id: str) -> KernelNames:
    """`addresses` of which names are wanted; `mappings` of the kernel as perf wrote them down."""
    base = next((one.file_offset or one.start for one in mappings if one.path.startswith(KERNEL)), 0)
    if not len(addresses):
        return KernelNames({}, base, "")
    for text in _tables(build_id):
        table = _Table(text)
        if table.base and len(table.start):
            # Another boot of the same kernel has it all elsewhere by the same distance.
            shift = base - table.base if base else 0
            return KernelNames(table.resolve(addresses, shift), base or table.base, "")
    why = "the kernel's symbols are not to be had here (they are kept by perf on the machine that recorded)"
    return KernelNames({}, base, f"Functions of the kernel have no names: {why}.")


def _tables(build_id: str) -> Iterator[str]:
    candidates = [path for path in cached_files(build_id) if path.name == "kallsyms"] if build_id else []
    if not build_id or build_id == running_build_id():
        candidates.append(_RUNNING)
    for path in candidates:
        try:
            yield path.read_text(errors="replace")
        except OSError:
            continue


def running_build_id() -> str:
    try:
        notes = _NOTES.read_bytes()
    except OSError:
        return ""
    at = notes.find(_BUILD_ID_NOTE)
    return notes[at + len(_BUILD_ID_NOTE) :][:20].hex() if at >= 0 else ""


class _Table:
    """Functions of `kallsyms` by address; a function reaches to the next one."""

    def __init__(self, text: str) -> None:
        found = []
        self.base = 0
        for line in text.splitlines():
            parts = line.split()
            if len(parts) < 3 or parts[1] not in _CODE:
                continue
            address = int(parts[0], 16)
            if parts[2] == "_text":
                self.base = address
            elif address >= _FIRST_KERNEL_ADDRESS:
                found.append((address, parts[2], parts[3].strip("[]") if len(parts) > 3 else ""))
        found.sort()
        self.start = np.array([address for address, _, _ in found], np.uint64)
        self._found = found

    def resolve(self, addresses: npt.NDArray[np.uint64], shift: int) -> dict[int, KernelSymbol]:
        wanted = addresses - np.uint64(shift % (1 << 64))
        rows = np.searchsorted(self.start, wanted, side="right") - 1
        return {
            address: KernelSymbol(self._found[row][1], self._found[row][2])
            for address, row in zip(addresses.tolist(), rows.tolist(), strict=True)
            if row >= 0
        }
