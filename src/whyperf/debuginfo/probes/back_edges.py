"""Jumps back to the beginning of a loop: as many as there are iterations after the first.

A loop may run on into the block that it was entered at, so that no jump leads back there. Where every iteration jumps
back to another block of the loop, that one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.basic_blocks.block_ends import Branching, branching_of
from whyperf.debuginfo.basic_blocks.blocks import Blocks, Parts, blocks_of
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.machines.machine import Row

_DOES_NOTHING = frozenset({"nop", "int3"})


@dataclass(frozen=True)
class BackEdge:
    row: int
    """Of the jump."""
    header: int
    """Row of the instruction that it leads to."""
    is_whole: bool
    """Nothing else but such jumps leads back there: no code that runs on into it, and no table of jumps."""


def back_edges(machine: Machine, rows: Sequence[Row], low: int, high: int) -> Iterator[BackEdge]:
    """Of a stretch of code: direct jumps to the block with which a loop begins that they are in."""
    branches = [branch for row in rows if (branch := branching_of(machine, row)) is not None]
    jumps = [branch for branch in branches if _leads_back(branch, low)]
    if not jumps:
        return
    blocks = blocks_of(branches, Parts(((low, high),)), frozenset())
    numbers = {row[0]: number for number, row in enumerate(rows)}
    target_of = {branch.start: branch.target for branch in branches if branch.is_jump}
    sources = blocks.row(np.array([branch.start for branch in jumps], np.uint64)).tolist()
    targets = blocks.row(np.array([branch.target for branch in jumps], np.uint64)).tolist()
    whole = {header: _is_whole(blocks, header, target_of) for header in set(targets) & set(blocks.loops.header)}
    instead = set(_blocks_instead(blocks, rows, target_of, whole))
    for branch, source, target in zip(jumps, sources, targets, strict=True):
        assert branch.target is not None
        if branch.target not in numbers:
            continue
        if _is_header_around(blocks, target, source):
            yield BackEdge(numbers[branch.start], numbers[branch.target], whole[target])
        elif target in instead:
            yield BackEdge(numbers[branch.start], numbers[branch.target], is_whole=True)


def _blocks_instead(
    blocks: Blocks, rows: Sequence[Row], target_of: Mapping[int, int | None], whole: Mapping[int, bool]
) -> Iterator[int]:
    """Of loops to whose header no jump leads back."""
    loops = [loop for loop, header in enumerate(blocks.loops.header) if header not in whole]
    filling = _filling(blocks, rows) if loops else set()
    for loop in loops:
        header = blocks.loops.header[loop]
        body = {block for block in range(len(blocks.ways)) if loop in blocks.loops.around(block)}
        for block in sorted(body - {header}):
            before = {one for one, following in enumerate(blocks.ways) if block in following} - filling
            start = int(blocks.start[block])
            jumps = all(one in body and target_of.get(blocks.last[one]) == start <= blocks.last[one] for one in before)
            if before and jumps and not _returns_without(blocks, header, block, body):
                yield block
                break


def _filling(blocks: Blocks, rows: Sequence[Row]) -> set[int]:
    """Blocks that only make others begin at a round address: nothing leads there."""
    numbers = blocks.row(np.array([row[0] for row in rows], np.uint64)).tolist()
    working = {number for number, row in zip(numbers, rows, strict=True) if row[2] not in _DOES_NOTHING}
    entered = {following for ways in blocks.ways for following in ways}
    return set(range(1, len(blocks.ways))) - working - entered


def _returns_without(blocks: Blocks, header: int, passed: int, body: Set[int]) -> bool:
    """Whether the loop can go on without passing a block."""
    waiting, seen = [header], {passed}
    while waiting:
        for following in blocks.ways[waiting.pop()]:
            if following == header:
                return True
            if following in body and following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


def _leads_back(branch: Branching, low: int) -> bool:
    return branch.is_jump and branch.target is not None and low <= branch.target <= branch.start


def _is_header_around(blocks: Blocks, header: int, block: int) -> bool:
    return any(blocks.loops.header[loop] == header for loop in blocks.loops.around(block))


def _is_whole(blocks: Blocks, header: int, target_of: Mapping[int, int | None]) -> bool:
    start = int(blocks.start[header])
    before = [block for block, following in enumerate(blocks.ways) if header in following]
    inside = [block for block in before if _is_header_around(blocks, header, block)]
    # By a jump forwards, too: its header lies behind it, as in a loop that is entered in the middle.
    return all(target_of.get(blocks.last[block]) == start <= blocks.last[block] for block in inside)
