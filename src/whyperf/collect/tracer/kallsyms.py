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
        self._functions: list[list[str]] = []  # words of their lines
        self._starts = np.zeros(0, np.uint64)
        self._rows = np.zeros(0, np.int64)
        self.base = 0
        self._read(symbols)

    def __bool__(self) -> bool:
        return len(self._starts) > 0

    def at(self, addresses: Iterable[int]) -> dict[int, KernelSymbol]:
        """Those that lie in a function, by address."""
        wanted = np.fromiter(addresses, np.uint64)
        rows = np.searchsorted(self._starts, wanted, side="right").astype(np.int64) - 1
        return {
            address: self._symbol(row) for address, row in zip(wanted.tolist(), rows.tolist(), strict=True) if row >= 0
        }

    def code(self, addresses: Iterable[int]) -> KernelCode:
        return KernelCode.of(self.at(addresses), self.base, kernel_build_id())

    def _symbol(self, row: int) -> KernelSymbol:
        _, _, name, *module = self._functions[self._rows[row]]
        return KernelSymbol(name, module[0].strip("[]") if module else "")

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            return
        functions = [line.split(maxsplit=3) for line in lines if line[17:18] in _FUNCTIONS]
        starts = np.fromiter((int(words[0], 16) for words in functions), np.uint64, len(functions))
        self._functions = functions
        order = np.argsort(starts, kind="stable")
        # Of several names of one place the first is the plainest.
        first = np.diff(starts[order], prepend=np.uint64(0)) > 0
        self._starts, self._rows = starts[order][first], order[first]
        self.base = next((int(words[0], 16) for words in functions if words[2] == _TEXT), 0)


def kernel_build_id() -> str:
    try:
        return build_id_in_notes(_NOTES.read_bytes(), 4)
    except OSError:
        return ""
