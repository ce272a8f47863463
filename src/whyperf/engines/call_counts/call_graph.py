"""Counted calls between functions, and two linear systems on them: how often each runs, what one call of it costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CallGraph:
    """Call sites as edges. The same caller and callee may have several."""

    functions: int
    caller: Ints  # of each site
    callee: Ints

    def activations(self, calls: Floats, outside: Floats) -> Floats:
        """Solve a = b + R'a: how often each function runs.

        Rows are sites (`calls`, per activation of the caller) or functions (`outside`); columns are cases that are
        solved side by side.
        """
        solved = np.array(outside, np.float64)
        for part in self._parts:
            _pass_on(solved, calls[part.into] * solved[self.caller[part.into]], self.callee[part.into])
            self._solve(solved, part, calls, transposed=True)
        return solved

    def total_costs(self, calls: Floats, self_cost: Floats) -> Floats:
        """Solve c = s + Rc: what one activation of each function costs with all that it calls."""
        solved = np.array(self_cost, np.float64)
        for part in reversed(self._parts):
            _pass_on(solved, calls[part.out_of] * solved[self.callee[part.out_of]], self.caller[part.out_of])
            self._solve(solved, part, calls, transposed=False)
        return solved

    @cached_property
    def sites_by_caller(self) -> list[Ints]:
        return _grouped(self.caller, np.arange(len(self.caller)), self.functions)

    @cached_property
    def sites_by_callee(self) -> list[Ints]:
        return _grouped(self.callee, np.arange(len(self.callee)), self.functions)

    @cached_property
    def circles(self) -> list[Ints]:
        """Of functions that call one another in a circle: the sites with which they do."""
        return [part.within for part in self._parts if len(part.within)]

    def callees_first(self) -> list[int]:
        """Every function after those that it calls, as far as circles permit."""
        return [int(function) for part in reversed(self._parts) for function in part.functions]

    def _solve(self, solved: Floats, part: _Part, calls: Floats, *, transposed: bool) -> None:
        """Within a cycle everybody waits for everybody: a dense system, each column by itself."""
        if len(part.within) == 0:
            return
        size, place = len(part.functions), part.place
        rows, columns = place[self.caller[part.within]], place[self.callee[part.within]]
        if transposed:
            rows, columns = columns, rows
        for case in range(solved.shape[1]):
            matrix = np.eye(size)
            np.subtract.at(matrix, (rows, columns), calls[part.within, case])
            solved[part.functions, case] = np.linalg.solve(matrix, solved[part.functions, case])

    @cached_property
    def _parts(self) -> list[_Part]:
        """Functions that call each other in a circle, or one alone, callers before callees."""
        component = _components(self.functions, self.caller, self.callee)
        count = int(component.max(initial=-1)) + 1
        inside = component[self.caller] == component[self.callee]
        members = _grouped(component, np.arange(self.functions), count)
        sites = np.arange(len(self.caller))
        into = _grouped(component[self.callee][~inside], sites[~inside], count)
        out_of = _grouped(component[self.caller][~inside], sites[~inside], count)
        within = _grouped(component[self.caller][inside], sites[inside], count)
        place = np.zeros(self.functions, np.int64)
        for functions in members:
            place[functions] = np.arange(len(functions))
        return [_Part(members[i], into[i], out_of[i], within[i], place) for i in range(count)]


@dataclass(frozen=True, eq=False)
class _Part:
    functions: Ints
    into: Ints  # sites from outside
    out_of: Ints
    within: Ints
    place: Ints  # of every function in its own part


def _pass_on(solved: Floats, given: Floats, to: Ints) -> None:
    if len(to):
        np.add.at(solved, to, given)


def _grouped(group: Ints, items: Ints, groups: int) -> list[Ints]:
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(1, groups))
    return np.split(items[order], cuts) if groups else []


def _components(functions: int, caller: Ints, callee: Ints) -> Ints:
    """Strongly connected components, numbered so that callers come before callees (Tarjan's, without recursion)."""
    order = np.argsort(caller, kind="stable")
    first = np.searchsorted(caller[order], np.arange(functions + 1)).tolist()
    called = callee[order].tolist()
    unseen = -1
    index, low, component = [unseen] * functions, [0] * functions, [unseen] * functions
    stack: list[int] = []
    next_site = first[:-1].copy()
    seen = found = 0
    for root in range(functions):
        if index[root] != unseen:
            continue
        path = [root]
        while path:
            function = path[-1]
            if index[function] == unseen:
                index[function] = low[function] = seen
                seen += 1
                stack.append(function)
            if next_site[function] < first[function + 1]:
                other = called[next_site[function]]
                next_site[function] += 1
                if index[other] == unseen:
                    path.append(other)
                elif component[other] == unseen:
                    low[function] = min(low[function], index[other])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[function])
            if low[function] == index[function]:
                while True:
                    member = stack.pop()
                    component[member] = found
                    if member == function:
                        break
                found += 1
    # Tarjan's finds callees first.
    return found - 1 - np.array(component, np.int64)
