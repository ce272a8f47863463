"""Names of the kernel's functions by address, which change with every boot and must be stored while it lasts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from whyperf.collect.tracer.facts import KernelCode
from whyperf.collect.tracer.traced import KernelSymbol
from whyperf.debuginfo.elf import build_id_in_notes

_SYMBOLS = Path("/proc/kallsyms")
_NOTES = Path("/sys/kernel/notes")
_FUNCTIONS = frozenset("tTwW")
_TEXT = "_text"


class KernelNames:
    """Read once. Empty where the kernel hides its addresses (kptr_restrict, no CAP_SYSLOG)."""

    def __init__(self, symbols: Path = _SYMBOLS) -> None:
        self._symbols: list[KernelSymbol] = []
        self._starts = np.zeros(0, np.uint64)
        self.base = 0
        self._read(symbols)

    def __bool__(self) -> bool:
        return bool(self._symbols)

    def at(self, addresses: Iterable[int]) -> dict[int, KernelSymbol]:
        """Those that lie in a function, by address."""
        wanted = np.fromiter(addresses, np.uint64)
        rows = np.searchsorted(self._starts, wanted, side="right").astype(np.int64) - 1
        return {
            address: self._symbols[row]
            for address, row in zip(wanted.tolist(), rows.tolist(), strict=True)
            if row >= 0 and self._symbols[row].name
        }

    def code(self, addresses: Iterable[int]) -> KernelCode:
        return KernelCode.of(self.at(addresses), self.base, kernel_build_id())

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            return
        found: dict[int, KernelSymbol] = {}
        for line in lines:
            address, kind, name, *module = line.split()
            start = int(address, 16)
            if name == _TEXT:
                self.base = start
            if start and kind in _FUNCTIONS:
                # Of several names of one place the first is the plainest.
                found.setdefault(start, KernelSymbol(name, module[0].strip("[]") if module else ""))
        starts = sorted(found)
        self._starts = np.array(starts, np.uint64)
        self._symbols = [found[start] for start in starts]


def kernel_build_id() -> str:
    try:
        return build_id_in_notes(_NOTES.read_bytes(), 4)
    except OSError:
        return ""
