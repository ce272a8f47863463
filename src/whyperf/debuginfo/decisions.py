"""Which line of a function decides that a place in it is reached: the condition of an `if`, of a loop, of a switch.

A place depends on a branch if one way out of it leads there for sure and another one may lead past it (Ferrante,
Ottenstein and Warren's control dependence). Of the branches that a place depends on, the nearest of the same source
function is told: those in what was inlined there count as the line of that call, those around it belong to its callers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whyperf.debuginfo.blocks import Blocks
from whyperf.debuginfo.code_map import CodeMap
from whyperf.debuginfo.flow_graph import EXIT, Successors, post_dominators
from whyperf.debuginfo.places import lines_at, scopes_at


@dataclass(frozen=True)
class Decision:
    line: int = 0  # 0: nothing in the function decides it, or it is unknown what does
    of_loop: bool = False  # it decides whether a loop around the place goes on


UNDECIDED = Decision()


@dataclass(frozen=True)
class _Place:
    block: int
    scope: int
    inside: int  # what is inlined in `scope` and holds the place; -1: nothing
    file: int
    line: int


class Decisions:
    """Those of one out-of-line function, with all that was inlined into it."""

    def __init__(self, blocks: Blocks, code: CodeMap) -> None:
        self._blocks, self._code = blocks, code
        self._depends = control_dependences(blocks.ways)
        branches = np.array(blocks.last, np.uint64)
        self._scope: list[int] = scopes_at(code, branches).tolist()
        files, lines = lines_at(code, branches)
        self._file: list[int] = files.tolist()
        self._line: list[int] = lines.tolist()

    def about(self, address: int, scope: int) -> Iterator[Decision]:
        """For the function at the address, `scope`, and then for each one into which it was inlined."""
        at = np.array([address], np.uint64)
        block = int(self._blocks.row(at)[0])
        file, line = (int(column[0]) for column in lines_at(self._code, at))
        inside = -1
        while scope >= 0:
            place = _Place(block, scope, inside, file, line)
            yield self._nearest(place) if block >= 0 else UNDECIDED
            file, line = int(self._code.scope_call_file[scope]), int(self._code.scope_call_line[scope])
            inside, scope = scope, int(self._code.scope_parent[scope])

    def _nearest(self, place: _Place) -> Decision:
        seen, work = {place.block}, deque([place.block])
        while work:
            block = work.popleft()
            branches = sorted(self._depends[block], key=lambda one: abs(one - block))
            lines = {one: self._line_in(one, place) for one in branches}
            # A loop has a branch before its first round as well, mostly.
            going_on = {lines[one] for one in branches if self._keeps_going(one, place.block)}
            # That a condition's first half decides about its second half says nothing, unless it is a loop's.
            telling = (line for line in lines.values() if line and (line != place.line or line in going_on))
            line = next(telling, 0)
            if line:
                return Decision(line, line in going_on)
            work += (one for one in branches if one not in seen and lines[one] is not None)
            seen |= set(branches)
        return UNDECIDED

    def _line_in(self, branch: int, place: _Place) -> int | None:
        """The line of the place's function with the branch, or with the inlined call that it is in; 0 where that call
        is the place itself or in another file, None where the branch is outside of the function."""
        code, within = self._code, -1
        inner = self._scope[branch]
        while inner >= 0 and inner != place.scope:
            within, inner = inner, int(code.scope_parent[inner])
        if inner < 0:
            return None
        if within < 0:
            return self._line[branch] if self._file[branch] == place.file else 0
        elsewhere = within == place.inside or int(code.scope_call_file[within]) != place.file
        return 0 if elsewhere else int(code.scope_call_line[within])

    def _keeps_going(self, branch: int, place: int) -> bool:
        loops, following = self._blocks.loops, self._blocks.ways[branch]
        around = set(loops.around(place))
        return any(
            loop in around and any(loop not in loops.around(to) for to in following) for loop in loops.around(branch)
        )


def control_dependences(successors: Successors) -> list[set[int]]:
    """Of each block the blocks whose branches it depends on."""
    join = post_dominators(successors, [not following for following in successors])
    found: list[set[int]] = [set() for _ in successors]
    for branch, following in enumerate(successors):
        if len(set(following)) < 2:
            continue
        for to in following:
            certain = to
            while certain not in (join[branch], EXIT):
                found[certain].add(branch)
                certain = join[certain]
    return found
