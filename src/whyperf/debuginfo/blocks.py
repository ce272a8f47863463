"""Basic blocks, found by disassembling only the functions asked for.

A block starts at the function's start, at the target of a branch from within it, and after a branch, a return or a
call of a function that never returns. Targets of jump tables are not followed: a case mostly starts after the
previous one's jump anyway. Blocks are counted by address, those of the part with the function's entry first: a
`.cold` part, wherever the linker put it, does not shift the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.code_map import Addresses, CodeMap, Int32s
from whyperf.debuginfo.instructions import branching_instructions

ReadCode = Callable[[int, int], bytes]


@dataclass(frozen=True, eq=False)
class Blocks:
    """One out-of-line function's blocks."""

    start: Addresses
    """Sorted."""
    number: Int32s

    def of(self, addresses: Addresses) -> Int32s:
        row = np.searchsorted(self.start, addresses, side="right") - 1
        return np.where(row >= 0, self.number[np.maximum(row, 0)], -1).astype(np.int32)


@dataclass(frozen=True)
class Parts:
    """A function's address ranges, the one with its entry first."""

    ranges: tuple[tuple[int, int], ...]

    def hold(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.ranges)

    def rank(self, address: int) -> int:
        """The number of the part that holds it."""
        return next(i for i, (low, high) in enumerate(self.ranges) if low <= address < high)


def find_blocks(code: CodeMap, scope: int, never_return: frozenset[int], read: ReadCode) -> Blocks | None:
    """None when the code's bytes cannot be had."""
    parts = parts_of(code, scope)
    leaders: set[int] = set()
    for low, high in parts.ranges:
        content = read(low, high)
        if not content:
            return None
        leaders |= {low, *_leaders(content, low, parts, never_return)}
    order = {leader: parts.rank(leader) for leader in leaders}
    numbered = sorted(leaders, key=lambda leader: (order[leader], leader))
    number = {leader: i for i, leader in enumerate(numbered)}
    start = sorted(leaders)
    return Blocks(np.array(start, np.uint64), np.array([number[leader] for leader in start], np.int32))


def parts_of(code: CodeMap, scope: int) -> Parts:
    first, last = np.searchsorted(code.body_scope, [scope, scope + 1])
    ranges = list(zip(code.body_low[first:last].tolist(), code.body_high[first:last].tolist(), strict=True))
    entry = int(code.scope_entry[scope])
    return Parts(tuple(sorted(ranges, key=lambda r: (not r[0] <= entry < r[1], r[0]))))


def _leaders(content: bytes, low: int, parts: Parts, never_return: frozenset[int]) -> Iterator[int]:
    for branch in branching_instructions(content, low):
        if not branch.is_call and branch.target is not None and parts.hold(branch.target):
            yield branch.target
        goes_on = branch.is_call and branch.target not in never_return
        if not goes_on and parts.hold(branch.end):
            yield branch.end
