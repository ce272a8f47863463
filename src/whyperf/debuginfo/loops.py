"""Which places of a function its own loops repeat.

Code of inlined functions is told apart: a loop belongs to the outermost function that a good part of its code comes
from. (Compilers scatter single instructions of a function over what they inlined.) Jump tables are not read here; the
cases that only they lead to count as reachable from every computed jump.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from whyperf.debuginfo.blocks import Blocks
from whyperf.debuginfo.code_map import Addresses, CodeMap
from whyperf.debuginfo.flow_graph import Loops, find_loops
from whyperf.debuginfo.places import scopes_at

_GOOD_PART = 0.2  # of the bytes of a loop


class RepeatedCode:
    """One out-of-line function's code, and whose loops repeat it."""

    def __init__(self, blocks: Blocks, code: CodeMap) -> None:
        self._blocks = blocks
        loops = find_loops(_with_cases(blocks))
        owner = [_owner(held, code) for held in _bytes_by_scope(blocks, loops, code)]
        self._around: list[set[int]] = []
        for loop in loops.of_block:
            scopes = set()
            while loop >= 0:
                scopes.add(owner[loop])
                loop = loops.parent[loop]
            self._around.append(scopes)

    def repeated_by(self, addresses: Addresses) -> list[set[int]]:
        """For each address the scopes whose loops repeat it."""
        return [self._around[row] if row >= 0 else set() for row in self._blocks.row(addresses).tolist()]


def _with_cases(blocks: Blocks) -> list[list[int]]:
    """Successors, with an edge from every computed jump to every block that nothing else leads to."""
    successors = [list(following) for following in blocks.successors]
    led_to = {0, *(block for following in successors for block in following)}
    cases = [block for block in range(len(successors)) if block not in led_to]
    for block, computed in enumerate(blocks.computed):
        if computed:
            successors[block] += cases
    return successors


def _bytes_by_scope(blocks: Blocks, loops: Loops, code: CodeMap) -> list[dict[int, int]]:
    """For each loop, without the loops inside it: how much of its code is which scope's own."""
    held: list[dict[int, int]] = [defaultdict(int) for _ in loops.header]
    ends = [*blocks.start[1:].tolist(), blocks.end]
    for start, end, loop in zip(blocks.start.tolist(), ends, loops.of_block, strict=True):
        if loop < 0:
            continue
        first, last = np.searchsorted(code.segment_start, np.array([start, end], np.uint64), side="right")
        cuts = [start, *code.segment_start[first:last].tolist(), end]
        scopes = scopes_at(code, np.array(cuts[:-1], np.uint64)).tolist()
        for scope, (low, high) in zip(scopes, pairwise(cuts), strict=True):
            held[loop][scope] += high - low
    return held


def _owner(held: dict[int, int], code: CodeMap) -> int:
    enough = _GOOD_PART * sum(held.values())
    able = [scope for scope, size in held.items() if scope >= 0 and size >= enough]
    return min(able, key=lambda scope: int(code.scope_depth[scope]), default=-1)
