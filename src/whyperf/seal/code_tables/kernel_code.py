"""The kernel's code, as far as its symbols were stored while it was traced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from whyperf.collect.tracer.traced import KernelSymbol
from whyperf.seal.evidence import Int64, UInt64
from whyperf.seal.participants.address_spaces import Module

_UNKNOWN = KernelSymbol("")


@dataclass(frozen=True)
class Kernel:
    symbols: Mapping[int, KernelSymbol] = field(default_factory=dict)
    base: int = 0
    build_id: str = ""

    def by_module(self, pc: UInt64) -> dict[str, Int64]:
        """Which of the addresses are in which of its modules; the kernel itself is the one without a name."""
        modules = np.array([self._at(address).module for address in pc.tolist()], object)
        return {str(name): np.flatnonzero(modules == name) for name in dict.fromkeys(modules.tolist())}

    def module(self, name: str) -> Module:
        return Module(f"[{name}]", "", 0) if name else Module("[kernel]", self.build_id, 0)

    def names(self, pc: UInt64) -> list[str]:
        return [self._at(address).name for address in pc.tolist()]

    def offsets(self, module: str, pc: UInt64) -> Int64:
        """From the kernel's start, where that is known; its modules lie elsewhere after every boot."""
        known = np.array([bool(name) for name in self.names(pc)]) & bool(self.base and not module)
        return np.where(known, (pc - np.uint64(self.base)).astype(np.int64), 0)

    def _at(self, address: int) -> KernelSymbol:
        # Callers are looked up one before the address that their stacks hold.
        return self.symbols.get(address) or self.symbols.get(address + 1) or _UNKNOWN
