"""Which line of a function decides that a place in it is reached: the condition of an `if`, of a loop, of a switch.

A place depends on a branch if one way out of it leads there for sure and another one may lead past it (Ferrante,
Ottenstein and Warren's control dependence); ways on which the program only ends, as of assertions, do not count. Of the
branches that a place depends on, the nearest of the same source function is told: those in what was inlined there count
as the line of that call, those around it belong to its callers. Where all that decides is whether a loop goes on, the
place is reached in every round of it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from whyperf.debuginfo.basic_blocks.flow_graph import EXIT, Successors, post_dominators, reached
from whyperf.debuginfo.code_maps.code_map import Addresses, CodeMap
from whyperf.debuginfo.code_maps.places import lines_at, out_of_line_scopes, scopes_at
from whyperf.debuginfo.control_flow.function_flow import Flow, TimedFlows

NOTHING = 0  # decides, or it is unknown what does


class DecidingLine(NamedTuple):
    line: int
    every_round: bool
    """The line decides whether a loop goes on, and the place is reached in every round."""
    every_call: bool
    """Nothing decides: the place is reached in every call."""


def deciding_lines(flows: TimedFlows, addresses: Addresses) -> list[list[DecidingLine]]:
    """For each address a line for every function that `resolve` gives: what decides in it that the place is reached, or
    the inlined call at it. Empty where the code was not read.

    Code is read for as long as there is time: that of the first addresses first.
    """
    code = flows.binary.code
    innermost, outer = (find(code, addresses).tolist() for find in (scopes_at, out_of_line_scopes))

    @cache
    def decisions(scope: int) -> Decisions | None:
        flow = flows.of(scope) if scope >= 0 else None
        return None if flow is None else Decisions(flow, code)

    return [
        [] if (known := decisions(whole)) is None else list(known.about(address, inner))
        for address, inner, whole in zip(addresses.tolist(), innermost, outer, strict=True)
    ]


@dataclass(frozen=True)
class _Place:
    block: int
    scope: int
    inside: int  # what is inlined in `scope` and holds the place; -1: nothing
    file: int
    line: int


class Decisions:
    """Those of one out-of-line function, with all that was inlined into it."""

    def __init__(self, flow: Flow, code: CodeMap) -> None:
        self._flow, self._code = flow, code
        ways = [[to for to in following if to not in flow.doomed] for following in flow.successors]
        self._depends = control_dependences(ways, flow.leaves)
        # What leads to handlers of exceptions, and to where some tables jump, is not known.
        self._reached = set(reached(ways, 0))
        branches = flow.address[np.append(flow.first[1:], len(flow.address)) - 1]
        self._scope: list[int] = scopes_at(code, branches).tolist()
        files, lines = lines_at(code, branches)
        self._file: list[int] = files.tolist()
        self._line: list[int] = lines.tolist()
        around = [frozenset(flow.loops.around(block)) for block in range(len(ways))]
        self._around = around
        # The loops that go on or not by each block's branch.
        self._ends = [
            frozenset(loop for loop in around[block] if any(loop not in around[to] for to in following))
            for block, following in enumerate(flow.successors)
        ]

        self._one_way: dict[int, frozenset[int]] = {}  # by branch: loops with which one of its ways goes on

    def about(self, address: int, scope: int) -> Iterator[DecidingLine]:
        """For the function at the address, `scope`, and then for each one into which it was inlined."""
        at = np.array([address], np.uint64)
        block = int(self._flow.block[self._flow.rows_at(at)[0]])
        file, line = (int(column[0]) for column in lines_at(self._code, at))
        inside = -1
        while scope >= 0:
            place = _Place(block, scope, inside, file, line)
            decides = self._nearest(place)
            branches = self._outside_of_what_is_inlined(place)
            every_round = decides != NOTHING and decides in self._lines_of_rounds(place, branches)
            yield DecidingLine(decides, every_round, every_call=not branches and block in self._reached)
            file, line = int(self._code.scope_call_file[scope]), int(self._code.scope_call_line[scope])
            inside, scope = scope, int(self._code.scope_parent[scope])

    def _nearest(self, place: _Place) -> int:
        seen, work = {place.block}, deque([place.block])
        while work:
            block = work.popleft()
            branches = sorted(self._depends[block], key=lambda one: abs(one - block))
            lines = {one: self._line_in(one, place) for one in branches}
            # That a condition's first half decides about its second half says nothing, unless it is a loop's.
            going_on = {lines[one] for one in branches if self._ends[one] & self._around[place.block]}
            line = next((line for line in lines.values() if line and (line != place.line or line in going_on)), NOTHING)
            if line != NOTHING:
                return line
            work += (one for one in branches if one not in seen and lines[one] is not None)
            seen |= set(branches)
        return NOTHING

    def _lines_of_rounds(self, place: _Place, branches: set[int]) -> set[int]:
        """The lines that decide whether the loop goes on in every round of which a place is reached. What decides
        outside of that loop decides whether there is a first round."""
        ending = {one: loop for one in branches if (loop := self._goes_on(one, place.block)) is not None}
        innermost = max(ending.values(), default=None)  # loops come after those around them
        inside = {one for one in branches if innermost in self._around[one]}
        every = all(ending.get(one) == innermost for one in inside)
        return {line for one in inside if (line := self._line_in(one, place))} if every else set()

    def _outside_of_what_is_inlined(self, place: _Place) -> set[int]:
        """The branches of the place's function on which it depends directly, or on which the inlined call does that
        the place is in."""
        found: set[int] = set()
        seen, work = {place.block}, [place.block]
        while work:
            for one in self._depends[work.pop()]:
                if self._is_inside(one, place.inside):
                    work += [one] if one not in seen else []
                    seen.add(one)
                elif self._is_inside(one, place.scope):
                    found.add(one)
        return found

    def _is_inside(self, branch: int, scope: int) -> bool:
        inner = self._scope[branch]
        while inner >= 0 and inner != scope:
            inner = int(self._code.scope_parent[inner])
        return inner >= 0

    def _goes_on(self, branch: int, block: int) -> int | None:
        """The innermost loop around a block that a branch leaves or goes on with, in one way."""
        if branch not in self._one_way:
            ways = Counter(loop for to in set(self._flow.successors[branch]) for loop in self._around[to])
            self._one_way[branch] = frozenset(loop for loop in self._ends[branch] if ways[loop] == 1)
        return max(self._one_way[branch] & self._around[block], default=None)

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
            return self._line[branch] if self._file[branch] == place.file else NOTHING
        elsewhere = within == place.inside or int(code.scope_call_file[within]) != place.file
        return NOTHING if elsewhere else int(code.scope_call_line[within])


def control_dependences(successors: Successors, leaves: Sequence[bool]) -> list[set[int]]:
    """Of each block the blocks whose branches it depends on. `leaves`: the function may be left from the block."""
    ends = [leaving or not following for leaving, following in zip(leaves, successors, strict=True)]
    join = post_dominators(successors, ends)
    found: list[set[int]] = [set() for _ in successors]
    for branch, following in enumerate(successors):
        if len(set(following)) + (ends[branch] and bool(following)) < 2:
            continue
        for to in following:
            certain = to
            while certain not in (join[branch], EXIT):
                found[certain].add(branch)
                certain = join[certain]
    return found
