"""Counted and sampled runs of both kinds on one call graph: what `attribute` divides the excess by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whyperf.engines.call_counts.call_graph import CallGraph, Floats
from whyperf.engines.call_counts.parameters import Measured
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, column, ints
from whyperf.recording.schemas.call_tables import CallKind
from whyperf.recording.schemas.tables import Clock

_DIRECT = (CallKind.CALL, CallKind.TAIL)


@dataclass(frozen=True, order=True)
class CountedSite:
    """A place that calls, told apart without addresses; functions are numbers of the index."""

    caller: int
    callee: int
    order: int  # among the caller's sites with that callee
    by_pointer: bool = False  # all of them together


@dataclass(frozen=True)
class CallPlace:
    """Where the source has a call."""

    function: int  # of the index: the caller, or what is inlined into it there
    line: int  # 0: unknown


@dataclass(frozen=True, eq=False)
class CountedProgram:
    index: FunctionIndex
    sites: tuple[CountedSite, ...]
    graph: CallGraph
    baseline: Measured
    slow: Measured
    places: dict[CountedSite, CallPlace]  # in the slow build, else in the baseline's
    uncounted_s: tuple[float, float]  # per unit of work, on stacks without a counted function: baseline, slow
    iterations: dict[int, tuple[float, float]]  # of functions whose loops were counted, per call: baseline, slow


@dataclass(frozen=True)
class CountedRuns:
    """The runs of one kind."""

    sampled: Sequence[Run]
    counted: Sequence[Run]


def counted_program(baseline: CountedRuns, slow: CountedRuns, clock: Clock = Clock.CPU) -> CountedProgram:
    """Join what counting runs counted with where sampled runs spend their time, per unit of work."""
    index = FunctionIndex((*baseline.sampled, *baseline.counted), (*slow.sampled, *slow.counted))
    counts = [_counts(index, side.counted) for side in (baseline, slow)]
    ran = set().union(*(one.ran for one in counts))
    seen = [_Sampled(index, run, ran, clock) for run in (*baseline.sampled, *slow.sampled)]
    by_pointer = _callers_by_pointer(counts, seen)
    made = [one.with_pointers(by_pointer) for one in counts]
    sites = tuple(sorted({site for calls in made for site in calls}))
    graph = CallGraph(
        len(index.functions),
        np.array([s.caller for s in sites], np.int64),
        np.array([s.callee for s in sites], np.int64),
    )
    times = _mean(seen[: len(baseline.sampled)], index), _mean(seen[len(baseline.sampled) :], index)
    measured = [
        Measured(
            one.activations(len(index.functions)),
            np.array([calls.get(site, 0.0) for site in sites]),
            own,
            _one_sample(side.sampled),
        )
        for one, calls, (own, _), side in zip(counts, made, times, (baseline, slow), strict=True)
    ]
    places = counts[0].places | counts[1].places
    uncounted = times[0][1], times[1][1]
    return CountedProgram(index, sites, graph, measured[0], measured[1], places, uncounted, _iterations(counts))


def _iterations(counts: Sequence[_Counts]) -> dict[int, tuple[float, float]]:
    """Only where both sides called the function: a loop that was never passed has no row."""
    baseline, slow = counts
    calls = [one.arriving | one.entered for one in counts]
    return {
        function: (baseline.iterated.get(function, 0.0) / calls[0][function],
                   slow.iterated.get(function, 0.0) / calls[1][function])
        for function in baseline.iterated.keys() | slow.iterated.keys()
        if calls[0].get(function) and calls[1].get(function)
    }  # fmt: skip


def _one_sample(runs: Sequence[Run]) -> float:
    """How much one sample stands for in the runs' mean, per unit of work."""
    rates = [run.manifest.sampling.rate_hz * run.work.count for run in runs]
    return max((1 / rate for rate in rates if rate > 0), default=0.0) / max(1, len(runs))


@dataclass(frozen=True)
class _Counts:
    """Means of the counting runs of one kind, per unit of work."""

    calls: dict[CountedSite, float]
    entered: dict[int, float]  # functions whose entries were counted
    through_pointers: dict[int, float]  # by caller
    iterated: dict[int, float]  # jumps back to the beginning of a loop, by function
    places: dict[CountedSite, CallPlace]

    @property
    def ran(self) -> set[int]:
        return {site.caller for site in self.calls} | {site.callee for site in self.calls} | set(self.entered)

    @property
    def arriving(self) -> dict[int, float]:
        found: dict[int, float] = defaultdict(float)
        for site, count in self.calls.items():
            found[site.callee] += count
        return found

    def activations(self, functions: int) -> Floats:
        """Entries where they were counted, which include calls from anywhere; else the counted calls."""
        found = np.zeros(functions)
        for function, count in (self.arriving | self.entered).items():
            found[function] = count
        # Whoever calls has run, though nobody was seen to enter: main, or what another library called.
        callers = [site.caller for site, count in self.calls.items() if count > 0] + list(self.through_pointers)
        found[[caller for caller in callers if not found[caller]]] = 1.0
        return found

    def with_pointers(self, callers: dict[int, dict[int, float]]) -> dict[CountedSite, float]:
        """Calls with those through pointers, each divided among the callers that are known by samples."""
        calls, arriving = dict(self.calls), self.arriving
        for callee, parts in callers.items():
            unexplained = self.entered.get(callee, 0.0) - arriving.get(callee, 0.0)
            able = {caller: part for caller, part in parts.items() if self.through_pointers.get(caller, 0.0) > 0}
            if unexplained > 0 and able:
                for caller, part in able.items():
                    calls[CountedSite(caller, callee, 0, by_pointer=True)] = unexplained * part / sum(able.values())
        return calls


def _counts(index: FunctionIndex, runs: Sequence[Run]) -> _Counts:
    calls: Counter[CountedSite] = Counter()
    entered: Counter[int] = Counter()
    through: Counter[int] = Counter()
    iterated: Counter[int] = Counter()
    places: dict[CountedSite, CallPlace] = {}
    for run in runs:
        table, number = run.recording.table("call_counts"), index.of_row[run]
        per = 1 / (run.work.count * len(runs))
        rows = zip(
            ints(table, "function"),
            ints(table, "callee"),
            ints(table, "frame"),
            ints(table, "order"),
            ints(table, "kind"),
            (column(table, "count") * per).tolist(),
            strict=True,
        )
        for function, callee, frame, order, kind, count in rows:
            caller = number.get(function)
            if caller is None:
                continue
            if kind == CallKind.ENTRY:
                entered[caller] += count
            elif kind in _DIRECT and callee in number:
                site = CountedSite(caller, number[callee], order)
                calls[site] += count
                if frame >= 0:
                    places[site] = _place(index, run, frame, number[callee])
            elif kind == CallKind.ITERATION:
                iterated[caller] += count
            else:
                through[caller] += count
    return _Counts(dict(calls), dict(entered), dict(through), dict(iterated), places)


def _place(index: FunctionIndex, run: Run, frame: int, callee: int) -> CallPlace:
    """The innermost function around the call. Not a part of the callee, of which the rest is called."""
    name = index.functions[callee].key.name
    chain = [index.of_frame[run][one] for one in run.frame_chain[frame]]
    around = (function for function in reversed(chain) if index.functions[function].key.name != name)
    return CallPlace(next(around, chain[0]), run.frame_line[frame])


class _Sampled:
    """Where one run spends its time, by counted function."""

    def __init__(self, index: FunctionIndex, run: Run, ran: set[int], clock: Clock) -> None:
        time = run.time(clock)
        self.own: Counter[int] = Counter()
        self.uncounted_s = 0.0
        self.called: Counter[tuple[int, int]] = Counter()  # seconds under calls of counted functions by counted ones
        for stack, seconds in zip(time.stack.tolist(), (time.seconds / run.work.count).tolist(), strict=True):
            path = _counted_path(index, run, stack, ran)
            if path:
                self.own[path[0]] += seconds
            else:
                self.uncounted_s += seconds
            for callee, caller in pairwise(path):
                self.called[caller, callee] += seconds


def _counted_path(index: FunctionIndex, run: Run, stack: int, ran: set[int]) -> list[int]:
    """Counted functions of a stack, innermost first. Inlined functions and uncounted libraries are their callers'.

    The program's own code that could not be counted is not the time of a library that called it, as `main` is called.
    """
    of_frame, passed_own = index.of_frame[run], False
    found: list[int] = []
    while stack >= 0:
        function = of_frame[run.frame_chain[run.stack_frame[stack]][0]]
        if function in ran:
            if passed_own and not found and not index.functions[function].own:
                return []
            found.append(function)
        passed_own |= index.functions[function].own
        stack = run.stack_parent[stack]
    return found


def _callers_by_pointer(counts: Sequence[_Counts], seen: Sequence[_Sampled]) -> dict[int, dict[int, float]]:
    """By callee, who calls it through pointers and with which part: sites do not know whom they call, samples do.

    Parts are of all runs together, so that they are no difference between the kinds.
    """
    direct = {(site.caller, site.callee) for one in counts for site in one.calls}
    found: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for run in seen:
        for (caller, callee), seconds in run.called.items():
            if (caller, callee) not in direct and caller != callee:
                found[callee][caller] += seconds
    return found


def _mean(seen: Sequence[_Sampled], index: FunctionIndex) -> tuple[Floats, float]:
    own = np.zeros(len(index.functions))
    for run in seen:
        for function, seconds in run.own.items():
            own[function] += seconds / len(seen)
    return own, sum(run.uncounted_s for run in seen) / max(len(seen), 1)
