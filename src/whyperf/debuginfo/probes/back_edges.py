"""Jumps back to the beginning of a loop: as many as there are iterations after the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.blocks import Parts, blocks_of
from whyperf.debuginfo.instructions import Branching, branching_of

Row = tuple[int, int, str, str]
"""Address, size, mnemonic, operands of an instruction."""


@dataclass(frozen=True)
class BackEdge:
    row: int
    """Of the jump."""
    header: int
    """Row of the instruction that it leads to."""


def back_edges(rows: Sequence[Row], low: int, high: int) -> Iterator[BackEdge]:
    """Of a stretch of code: direct jumps to the block with which a loop begins that they are in."""
    branches = [branch for row in rows if (branch := branching_of(*row)) is not None]
    if not any(_leads_back(branch, low) for branch in branches):
        return
    blocks = blocks_of(branches, Parts(((low, high),)), frozenset())
    loops = blocks.loops
    numbers = {row[0]: number for number, row in enumerate(rows)}
    jumps = [branch for branch in branches if _leads_back(branch, low)]
    sources = blocks.row(np.array([branch.start for branch in jumps], np.uint64)).tolist()
    targets = blocks.row(np.array([branch.target for branch in jumps], np.uint64)).tolist()
    for branch, source, target in zip(jumps, sources, targets, strict=True):
        assert branch.target is not None
        if branch.target in numbers and any(loops.header[loop] == target for loop in loops.around(source)):
            yield BackEdge(numbers[branch.start], numbers[branch.target])


def _leads_back(branch: Branching, low: int) -> bool:
    return branch.is_jump and branch.target is not None and low <= branch.target <= branch.start
