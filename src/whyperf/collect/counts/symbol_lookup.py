"""Whose function a call by name reaches: the first file in the order of loading that exports the name."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.collect.counts.counter_files import CountedProcess
from whyperf.collect.seal.symbols import DebugInfo
from whyperf.debuginfo.image import Image

ModuleKey = tuple[str, str]
"""Path and build-id."""


class Linking:
    """Modules of all processes, counted or not, and what they export."""

    def __init__(self, processes: Sequence[CountedProcess], symbols: DebugInfo) -> None:
        self._symbols = symbols
        keys = [[(module.path, module.build_id) for module in process.modules] for process in processes]
        self.modules: list[ModuleKey] = list(dict.fromkeys(key for listed in keys for key in listed))
        self.number = {key: number for number, key in enumerate(self.modules)}
        self._of_process = [[self.number[key] for key in listed] for listed in keys]
        self._exports: dict[int, dict[str, int]] = {}

    def found(self, process: int, symbol: str) -> tuple[int, int]:
        """Module and address; a pair of -1 where nobody exports it."""
        for number in self._of_process[process]:
            address = self._exported(number).get(symbol)
            if address is not None:
                return number, address
        return -1, -1

    def _exported(self, number: int) -> dict[str, int]:
        if number not in self._exports:
            elf = self._symbols.describe(*self.modules[number]).elf
            self._exports[number] = Image(elf).exports if elf is not None else {}
        return self._exports[number]
