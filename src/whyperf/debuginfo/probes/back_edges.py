"""Jumps back to the beginning of a loop: as many as there are iterations after the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.basic_blocks.block_ends import Branching, branching_of
from whyperf.debuginfo.basic_blocks.blocks import Blocks, Parts, blocks_of
from whyperf.debuginfo.machines import Machine
from whyperf.debuginfo.machines.machine import Row


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
    for branch, source, target in zip(jumps, sources, targets, strict=True):
        assert branch.target is not None
        if branch.target in numbers and _is_header_around(blocks, target, source):
            yield BackEdge(numbers[branch.start], numbers[branch.target], whole[target])


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
