"""Memory handed out and taken back, from the calls of malloc and its kin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.collect.dependences.instruments import HeapUse
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.image import Image

Ints = npt.NDArray[np.int64]

# Those that tell in two arguments and a result what they did. What others hand out they have from these: reallocarray
# from realloc, strdup from malloc, C++'s new from malloc or aligned_alloc.
_FUNCTIONS = ("malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "valloc", "pvalloc")
# Those that leave the address where their first argument points.
_STORING = ("posix_memalign",)
# Those of jemalloc, tcmalloc and mimalloc where they are linked in beside the C library's.
_PREFIXES = ("", "je_", "tc_", "mi_")
_FAILED = (0, (1 << 64) - 1)


def heap_entries(binary: Binary) -> dict[int, str]:
    """Functions that hand out and take back memory, in the C library or in an allocator of the program's own."""
    exports = Image(binary.elf).exports if binary.elf is not None else {}
    meant = {f"{prefix}{name}": name for prefix in _PREFIXES for name in (*_FUNCTIONS, *_STORING)}
    found = {exports[name]: like for name, like in meant.items() if name in exports}
    for name, like in meant.items():
        for function in binary.code.function_name.find(name).tolist():
            found |= dict.fromkeys(binary.entry_addresses(function), like)
    return found


def heap_use(name: str) -> HeapUse:
    return HeapUse.STORES if name in _STORING else HeapUse.RETURNS


@dataclass(frozen=True, eq=False)
class HeapChanges:
    """Bytes that became the program's, or with a minus ceased to be, in order."""

    region: Ints
    """The call of malloc, free or another that did it."""
    amount: Ints
    allocated_by: Ints
    """Of bytes given back: the row that had taken them. -1 otherwise."""

    def until_peak(self) -> HeapChanges:
        """Up to where most is in use: programs that free everything at their end have their peak before."""
        in_use = np.cumsum(self.amount)
        rows = int(np.argmax(in_use)) + 1 if len(in_use) else 0
        return HeapChanges(self.region[:rows], self.amount[:rows], self.allocated_by[:rows])


def heap_changes(calls: npt.NDArray[np.void], names: Mapping[int, str], inner: npt.NDArray[np.bool_]) -> HeapChanges:
    """`calls` as the stream has them, `names` of their functions; `inner`: made by another such function."""
    ledger = _Ledger()
    columns = ("function", "region", "argument0", "argument1", "result", "returned")
    for row, (function, region, one, other, result, returned) in enumerate(
        zip(*(calls[name].tolist() for name in columns), strict=True)
    ):
        if not inner[row]:
            ledger.take(names[function], region, one, other, result if returned else 0)
    return HeapChanges(
        np.array(ledger.region, np.int64), np.array(ledger.amount, np.int64), np.array(ledger.allocated_by, np.int64)
    )


class _Ledger:
    def __init__(self) -> None:
        self.region: list[int] = []
        self.amount: list[int] = []
        self.allocated_by: list[int] = []
        self._live: dict[int, int] = {}  # address -> row that allocated it

    def take(self, name: str, region: int, one: int, other: int, result: int) -> None:
        match name:
            case "free":
                self._give_back(region, one)
            case "malloc":
                self._hand_out(region, result, one)
            case "calloc":
                self._hand_out(region, result, one * other)
            case "realloc":
                if result not in _FAILED or other == 0:
                    self._give_back(region, one)
                self._hand_out(region, result, other)
            case "valloc" | "pvalloc":
                self._hand_out(region, result, one)
            case "memalign" | "aligned_alloc" | "posix_memalign":
                self._hand_out(region, result, other)

    def _hand_out(self, region: int, address: int, size: int) -> None:
        if address not in _FAILED:
            self._live[address] = len(self.region)
            self._add(region, size, -1)

    def _give_back(self, region: int, address: int) -> None:
        row = self._live.pop(address, None)
        if row is not None:
            self._add(region, -self.amount[row], row)

    def _add(self, region: int, amount: int, allocated_by: int) -> None:
        self.region.append(region)
        self.amount.append(amount)
        self.allocated_by.append(allocated_by)
