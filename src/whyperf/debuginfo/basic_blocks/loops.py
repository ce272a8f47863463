"""Which places of a function its own loops repeat.

Code of inlined functions is told apart. A loop belongs to the innermost function that holds all that decides whether it
goes on, by a branch out of it or back to its beginning, and all calls in it: those never move, while compilers scatter
other instructions over what they inlined. So `while (more(&list)) visit(list);` is its function's loop although only
the inlined `more` branches. Jump tables are not read here; the cases that only they lead to count as
reachable from every computed jump.
"""

from __future__ import annotations

import numpy as np

from whyperf.debuginfo.basic_blocks.blocks import Blocks
from whyperf.debuginfo.code_maps.code_map import CodeMap
from whyperf.debuginfo.code_maps.places import scopes_at


class RepeatedCode:
    """One out-of-line function's code, and whose loops repeat it."""

    def __init__(self, blocks: Blocks, code: CodeMap) -> None:
        self._blocks = blocks
        owner = _owners(blocks, code)
        self._around = [{owner[loop] for loop in blocks.loops.around(block)} for block in range(len(blocks.ways))]

    def repeated_by(self, address: int) -> set[int]:
        """The scopes whose loops repeat what is at an address."""
        row = int(self._blocks.row(np.array([address], np.uint64))[0])
        return self._around[row] if row >= 0 else set()


def _owners(blocks: Blocks, code: CodeMap) -> list[int]:
    """Of each loop the scope whose loop it is; -1: unknown."""
    loops = blocks.loops
    scope_of_branch = scopes_at(code, np.array(blocks.last, np.uint64)).tolist()
    held: list[set[int]] = [set() for _ in loops.header]
    around = [frozenset(loops.around(block)) for block in range(len(blocks.ways))]
    for block, following in enumerate(blocks.ways):
        for loop in around[block]:
            if any(to == loops.header[loop] or loop not in around[to] for to in following):
                held[loop].add(scope_of_branch[block])
    for block, scope in zip(blocks.row(blocks.calls).tolist(), scopes_at(code, blocks.calls).tolist(), strict=True):
        for loop in loops.around(block):
            held[loop].add(scope)
    return [_around_all(scopes - {-1}, code) for scopes in held]


def _around_all(scopes: set[int], code: CodeMap) -> int:
    """The innermost scope that holds them all; -1: none does."""
    while len(scopes) > 1:
        deepest = max(scopes, key=lambda scope: int(code.scope_depth[scope]))
        parent = int(code.scope_parent[deepest])
        if parent < 0:
            return -1
        scopes = scopes - {deepest} | {parent}
    return next(iter(scopes), -1)
