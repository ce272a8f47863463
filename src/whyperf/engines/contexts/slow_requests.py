"""What the slowest requests of one traced run did that the others did not.

The time of a request is split into running, waiting for a CPU, and waits by the function that waits and for what.
While a request waits for another thread, what that thread waits for is looked up, one step far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.indexing import Contexts, index_contexts
from whyperf.engines.contexts.inference import follow
from whyperf.engines.contexts.records import Flags, Records
from whyperf.engines.contexts.requests import Request, requests_of
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.kernel.wait_kinds import WaitKind, kinds_of
from whyperf.engines.run import Floats, Run

_SLOWEST = 0.01
_FEWEST_SLOW, _FEWEST = 5, 50  # requests: fewer say nothing of a tail

RUNS, QUEUED = -1, -2  # places that are no function


@dataclass(frozen=True)
class RequestPlace:
    """Where requests pass time."""

    function: int  # of the index; RUNS or QUEUED
    kind: WaitKind  # of the wait
    slow_s: float  # mean of the slowest requests
    usual_s: float  # mean of the others
    in_slow: float  # part of the slowest requests that pass time there
    meanwhile: int | None = None  # function in which the thread waits that ends these waits
    meanwhile_kind: WaitKind = WaitKind.NONE


@dataclass(frozen=True)
class SlowRequests:
    index: FunctionIndex
    count: int
    slowest: int
    percentiles: dict[float, float]
    slow_s: float  # mean of the slowest
    usual_s: float  # mean of the others
    places: tuple[RequestPlace, ...]  # the largest difference first


def slow_requests(run: Run) -> SlowRequests | None:
    """None where the run has too few requests."""
    found = list(requests_of(run))
    if len(found) < _FEWEST:
        return None
    lengths = np.array([(one.end - one.begin) / 1e9 for one in found])
    order = np.argsort(-lengths, kind="stable")
    slowest = max(_FEWEST_SLOW, round(_SLOWEST * len(found)))
    is_slow = np.zeros(len(found), np.bool_)
    is_slow[order[:slowest]] = True
    contexts = index_contexts(FunctionIndex([], [run]))
    waits = follow(run, contexts.tree, contexts.node_of_stack[run]).waits
    places = _Split(contexts, waits).places(found, lengths, is_slow)
    percentiles = {which: float(np.percentile(lengths, which)) for which in (50.0, 90.0, 99.0, 99.9)}
    means = float(lengths[is_slow].mean()), float(lengths[~is_slow].mean())
    return SlowRequests(contexts.index, len(found), slowest, percentiles, *means, places)


class _Split:
    """Waits by thread, in time order."""

    def __init__(self, contexts: Contexts, waits: Records) -> None:
        self._contexts = contexts
        self._kinds = kinds_of(waits)
        order = np.lexsort((waits["start"], waits["thread"]))
        self._waits, self._kinds = waits[order], self._kinds[order]
        self._first = np.searchsorted(self._waits["thread"], np.arange(int(waits["thread"].max(initial=0)) + 2))
        self._function: dict[int, int] = {}

    def places(self, requests: list[Request], lengths: Floats, is_slow: Flags) -> tuple[RequestPlace, ...]:
        sums: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
        seen: Counter[tuple[int, int]] = Counter()
        meanwhile: defaultdict[tuple[int, int], Counter[tuple[int, int]]] = defaultdict(Counter)
        for request, lasted, slow in zip(requests, lengths.tolist(), is_slow.tolist(), strict=True):
            spent = self._spent(request, meanwhile if slow else None)
            spent[RUNS, 0] = max(lasted - sum(spent.values()), 0.0)
            for place, seconds in spent.items():
                sums[place][slow] += seconds
                seen[place] += slow and seconds > 0
        slowest = int(is_slow.sum())
        others = len(requests) - slowest
        found = []
        for (function, kind), (of_others, of_slow) in sums.items():
            means, often = (of_slow / slowest, of_others / max(others, 1)), seen[function, kind] / slowest
            found.append(RequestPlace(function, WaitKind(kind), *means, often, *self._most(meanwhile[function, kind])))
        return tuple(sorted(found, key=lambda one: one.usual_s - one.slow_s))

    @staticmethod
    def _most(counted: Counter[tuple[int, int]]) -> tuple[int | None, WaitKind]:
        if not counted:
            return None, WaitKind.NONE
        (function, kind), _ = counted.most_common(1)[0]
        return function, WaitKind(kind)

    def _spent(
        self, request: Request, meanwhile: defaultdict[tuple[int, int], Counter[tuple[int, int]]] | None
    ) -> dict[tuple[int, int], float]:
        spent: defaultdict[tuple[int, int], float] = defaultdict(float)
        for at in self._within(request.thread, request.begin, request.end):
            wait = self._waits[at]
            begin, woken = max(int(wait["start"]), request.begin), min(int(wait["woken"]), request.end)
            spent[QUEUED, 0] += max(min(int(wait["end"]), request.end) - max(woken, begin), 0) / 1e9
            if woken <= begin:
                continue
            place = (self._own(int(wait["node"])), int(self._kinds[at]))
            spent[place] += (woken - begin) / 1e9
            if meanwhile is not None and wait["waker"] >= 0:
                for other in self._within(int(wait["waker"]), begin, woken):
                    row = self._waits[other]
                    lasted = min(int(row["woken"]), woken) - max(int(row["start"]), begin)
                    where = (self._own(int(row["node"])), int(self._kinds[other]))
                    if where != place:  # else it waits along
                        meanwhile[place][where] += max(lasted, 0)
        return dict(spent)

    def _within(self, thread: int, begin: int, end: int) -> range:
        if not 0 <= thread < len(self._first) - 1:
            return range(0)
        first, last = int(self._first[thread]), int(self._first[thread + 1])
        rows = self._waits[first:last]
        low = int(np.searchsorted(rows["end"], begin, "right"))
        return range(first + low, first + int(np.searchsorted(rows["start"], end)))

    def _own(self, node: int) -> int:
        """The innermost of the program's own functions, else the innermost of all; RUNS: unknown."""
        if node <= 0:
            return RUNS
        if node not in self._function:
            path = [int(self._contexts.function[one]) for one in self._contexts.path(node)]
            known = [one for one in path if one >= 0]
            own = [one for one in known if self._contexts.index.own[one]]
            self._function[node] = (own or known or [RUNS])[-1]
        return self._function[node]
