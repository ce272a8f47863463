"""Names of the kernel's functions by address, which change with every boot and must be stored while it lasts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whyperf.collect.tracer.facts import KernelCode
from whyperf.collect.tracer.traced import KernelSymbol
from whyperf.debuginfo.elf_files.elf import build_id_in_notes

_SYMBOLS = Path("/proc/kallsyms")
_NOTES = Path("/sys/kernel/notes")
_FUNCTIONS = np.frombuffer(b"tTwW", np.uint8)
_TEXT = b" T _text\n"
_DIGITS = 16
_KIND_AT = _DIGITS + 1
_NEWLINE = np.uint8(ord("\n"))


class KernelNames:
    """Read once. Empty where the kernel hides its addresses (kptr_restrict, no CAP_SYSLOG).

    The program that is recorded runs meanwhile: addresses are told from the text as a whole, names when asked for.
    """

    def __init__(self, symbols: Path = _SYMBOLS) -> None:
        try:
            self._text = symbols.read_bytes()
        except OSError:
            self._text = b""
        lines = _function_lines(np.frombuffer(self._text, np.uint8))
        starts = _addresses(np.frombuffer(self._text, np.uint8), lines)
        order = np.argsort(starts, kind="stable")
        # Of several names of one place the first is the plainest.
        first = np.diff(starts[order], prepend=np.uint64(0)) > 0
        self._starts, self._lines = starts[order][first], lines[order][first]
        text = self._text.find(_TEXT)
        self.base = int(self._text[self._text.rfind(b"\n", 0, text) + 1 :][:_DIGITS], 16) if text >= 0 else 0

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
        begin = int(self._lines[row])
        end = self._text.find(b"\n", begin)
        line = self._text[begin : end if end >= 0 else len(self._text)].decode(errors="replace")
        _, _, name, *module = line.split(maxsplit=3)
        return KernelSymbol(name, module[0].strip("[]") if module else "")


def _function_lines(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Where the lines of functions begin: `ffffffff81000000 T _text`, and for those of modules `\\t[module]`."""
    begins = np.flatnonzero(np.concatenate((np.full(1, _NEWLINE), text[:-1])) == _NEWLINE)
    begins = begins[begins + _KIND_AT < len(text)]
    return begins[np.isin(text[begins + _KIND_AT], _FUNCTIONS)]


def _addresses(text: npt.NDArray[np.uint8], lines: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    found = np.zeros(len(lines), np.uint64)
    for digit in range(_DIGITS):
        character = text[lines + digit].astype(np.uint64)
        # '0' is 0x30, 'a' is 0x61: the bit that only letters have is worth nine.
        found = (found << np.uint64(4)) | ((character & np.uint64(15)) + np.uint64(9) * (character >> np.uint64(6)))
    return found


def kernel_build_id() -> str:
    try:
        return build_id_in_notes(_NOTES.read_bytes(), 4)
    except OSError:
        return ""
