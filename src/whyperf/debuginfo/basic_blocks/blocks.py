"""Basic blocks, found by disassembling only the functions asked for.

A block starts at the function's start, at the target of a branch from within it, and after a branch, a return or a
call of a function that never returns. Targets of jump tables are not followed: a case mostly starts after the
previous one's jump anyway. Blocks are counted by address, those of the part with the function's entry first: a
`.cold` part, wherever the linker put it, does not shift the numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whyperf.debuginfo.basic_blocks.block_ends import Branching, branching_instructions
from whyperf.debuginfo.basic_blocks.flow_graph import Loops, find_loops
from whyperf.debuginfo.code_maps.code_map import Addresses, CodeMap, Int32s
from whyperf.debuginfo.code_maps.places import last_at_or_before
from whyperf.debuginfo.machines import Machine

ReadCode = Callable[[int, int], bytes]


@dataclass(frozen=True, eq=False)
class Blocks:
    """One out-of-line function's blocks, and where each may lead."""

    start: Addresses
    """Sorted."""
    number: Int32s
    successors: tuple[tuple[int, ...], ...]
    """By row of `start`."""
    computed: tuple[bool, ...]
    """Whether the block ends in a jump to a computed address."""
    last: tuple[int, ...]
    """Address of the branch that ends the block; of its start where none does."""
    calls: Addresses
    """Of the instructions that call."""

    @cached_property
    def ways(self) -> list[list[int]]:
        return with_cases(self.successors, self.computed)

    @cached_property
    def loops(self) -> Loops:
        return find_loops(self.ways)

    def of(self, addresses: Addresses) -> Int32s:
        row = self.row(addresses)
        return np.where(row >= 0, self.number[np.maximum(row, 0)], -1).astype(np.int32)

    def row(self, addresses: Addresses) -> npt.NDArray[np.int64]:
        return last_at_or_before(self.start, addresses)


@dataclass(frozen=True)
class Parts:
    """A function's address ranges, the one with its entry first."""

    ranges: tuple[tuple[int, int], ...]

    def hold(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.ranges)

    def rank(self, address: int) -> int:
        """The number of the part that holds it."""
        return next(i for i, (low, high) in enumerate(self.ranges) if low <= address < high)


def find_blocks(
    machine: Machine, code: CodeMap, scope: int, never_return: frozenset[int], read: ReadCode
) -> Blocks | None:
    """None when the code's bytes cannot be had."""
    parts = parts_of(code, scope)
    branches: list[Branching] = []
    for low, high in parts.ranges:
        content = read(low, high)
        if not content:
            return None
        branches += branching_instructions(machine, content, low)
    return blocks_of(branches, parts, never_return)


def blocks_of(branches: Sequence[Branching], parts: Parts, never_return: frozenset[int]) -> Blocks:
    """Of code whose branching instructions are known."""
    leaders = {low for low, _ in parts.ranges}
    for branch in branches:
        leaders |= _leaders(branch, parts, never_return)
    numbered = sorted(leaders, key=lambda leader: (parts.rank(leader), leader))
    number = {leader: i for i, leader in enumerate(numbered)}
    start = sorted(leaders)
    return Blocks(
        np.array(start, np.uint64),
        np.array([number[leader] for leader in start], np.int32),
        *_edges(start, branches, parts, never_return),
        np.array([branch.start for branch in branches if branch.is_call], np.uint64),
    )


def with_cases(successors: Sequence[Sequence[int]], computed: Sequence[bool]) -> list[list[int]]:
    """Successors, with an edge from every computed jump to every block that nothing else leads to."""
    led_to = {0, *(block for following in successors for block in following)}
    cases = [block for block in range(len(successors)) if block not in led_to]
    return [[*to, *(cases if jumps else ())] for to, jumps in zip(successors, computed, strict=True)]


def parts_of(code: CodeMap, scope: int) -> Parts:
    first, last = np.searchsorted(code.body_scope, [scope, scope + 1])
    ranges = list(zip(code.body_low[first:last].tolist(), code.body_high[first:last].tolist(), strict=True))
    entry = int(code.scope_entry[scope])
    return Parts(tuple(sorted(ranges, key=lambda r: (not r[0] <= entry < r[1], r[0]))))


def _leaders(branch: Branching, parts: Parts, never_return: frozenset[int]) -> set[int]:
    found = set()
    if branch.is_jump and branch.target is not None and parts.hold(branch.target):
        found.add(branch.target)
    returns = branch.is_call and branch.target not in never_return
    if not returns and parts.hold(branch.end):
        found.add(branch.end)
    return found


def _edges(
    start: list[int], branches: Sequence[Branching], parts: Parts, never_return: frozenset[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...], tuple[int, ...]]:
    row = {leader: at for at, leader in enumerate(start)}
    ending = {bisect_right(start, b.start) - 1: b for b in branches if not b.is_call or b.target in never_return}
    successors: list[tuple[int, ...]] = []
    for at in range(len(start)):
        branch = ending.get(at)
        following: list[int] = []
        goes_on = branch is None or (branch.goes_on and not branch.is_call)
        if goes_on and at + 1 < len(start) and parts.rank(start[at]) == parts.rank(start[at + 1]):
            following.append(at + 1)
        if branch is not None and branch.is_jump and branch.target in row:
            following.append(row[branch.target])
        successors.append(tuple(following))
    computed = tuple((b := ending.get(at)) is not None and b.is_jump and b.target is None for at in range(len(start)))
    last = tuple(ending[at].start if at in ending else start[at] for at in range(len(start)))
    return tuple(successors), computed, last
