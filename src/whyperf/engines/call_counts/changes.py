"""What changed, in parts of the excess: the rows that reports show and sentences are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from whyperf.engines.call_counts.attribution import Attribution, BlameSettings, attribute
from whyperf.engines.call_counts.call_graph import CallGraph
from whyperf.engines.call_counts.counted import CallPlace, CountedProgram
from whyperf.engines.call_counts.parameters import parameters


class ChangeKind(StrEnum):
    CALLS = "calls"  # a site calls more or less often per call of its function
    SELF = "self"  # a call costs more or less in the function's own code
    OUTSIDE = "outside"  # the function is entered more or less often by what is not counted


@dataclass(frozen=True)
class BlamedChange:
    kind: ChangeKind
    function: int  # of the index
    callee: int | None  # of calls
    place: CallPlace | None  # of calls, where it is known
    baseline: float  # calls per call, seconds per call, or calls per unit of work
    slow: float
    part_s: float  # of the excess, per unit of work


@dataclass(frozen=True)
class Blame:
    """One function with what it decided otherwise."""

    function: int
    part_s: float
    activations: tuple[float, float]  # per unit of work: baseline, slow
    changes: tuple[BlamedChange, ...]  # largest first


@dataclass(frozen=True)
class Divided:
    """The excess of counted code per unit of work, divided. Parts add up to `excess_s`."""

    excess_s: float
    functions: tuple[Blame, ...]  # who decided otherwise, largest first
    outside: tuple[BlamedChange, ...]  # more work, largest first


def divide(program: CountedProgram, settings: BlameSettings | None = None) -> Divided:
    before, after = parameters(program.graph, program.baseline, program.slow)
    found = netted(program.graph, attribute(program.graph, before, after, settings))
    changes: dict[int, list[BlamedChange]] = {}
    for number in np.flatnonzero(found.calls):
        site = program.sites[number]
        change = BlamedChange(
            ChangeKind.CALLS,
            site.caller,
            site.callee,
            program.places.get(site),
            float(before.calls[number]),
            float(after.calls[number]),
            float(found.calls[number]),
        )
        changes.setdefault(site.caller, []).append(change)
    for function in np.flatnonzero(found.self_cost).tolist():
        sides = float(before.self_cost[function]), float(after.self_cost[function])
        part = float(found.self_cost[function])
        changes.setdefault(function, []).append(BlamedChange(ChangeKind.SELF, function, None, None, *sides, part))
    outside = [
        BlamedChange(
            ChangeKind.OUTSIDE,
            function,
            None,
            None,
            float(before.outside[function]),
            float(after.outside[function]),
            float(found.outside[function]),
        )
        for function in np.flatnonzero(found.outside).tolist()
    ]
    blamed = [
        Blame(
            function,
            sum(change.part_s for change in rows),
            (float(program.baseline.activations[function]), float(program.slow.activations[function])),
            _largest_first(rows),
        )
        for function, rows in changes.items()
    ]
    blamed.sort(key=lambda one: (-one.part_s, one.function))
    return Divided(found.excess, tuple(blamed), _largest_first(outside))


def _largest_first(changes: Sequence[BlamedChange]) -> tuple[BlamedChange, ...]:
    return tuple(sorted(changes, key=lambda one: (-abs(one.part_s), one.function, one.callee or 0)))


def netted(graph: CallGraph, found: Attribution) -> Attribution:
    """Net what a function does less per call against the sites that call it more often, and the other way round.

    The same for calls within a circle of functions: a sort that calls itself here instead of there recurses as often.

    Work handed over in smaller pieces is no change: if `apply` is called a hundred times as often and does a hundredth
    each time, the sites that call it and its own code carry shares of opposite sign that say nothing. From the
    innermost functions outwards the smaller of the two is taken off both. Sums stay what they were.
    """
    calls, own = found.calls.copy(), found.self_cost.copy()
    for circle in graph.circles:
        more, less = (circle[sign * calls[circle] > 0] for sign in (1, -1))
        amount = min(float(calls[more].sum()), -float(calls[less].sum()))
        if amount > 0:
            calls[more] *= 1 - amount / float(calls[more].sum())
            calls[less] *= 1 + amount / float(calls[less].sum())
    into, inside = graph.sites_by_callee, graph.sites_by_caller
    for function in graph.callees_first():
        arriving = into[function][graph.caller[into[function]] != function]
        per_call = own[function] + calls[inside[function]].sum()
        sign = np.sign(per_call)
        opposed = arriving[np.sign(calls[arriving]) == -sign]
        amount = min(abs(per_call), float(np.abs(calls[opposed]).sum()))
        if amount == 0:
            continue
        calls[opposed] *= 1 - amount / float(np.abs(calls[opposed]).sum())
        # ... and off its own changes of the other sign, of its code and of its sites.
        alike = inside[function][np.sign(calls[inside[function]]) == sign]
        of_code = abs(own[function]) if np.sign(own[function]) == sign else 0.0
        left = 1 - amount / (of_code + float(np.abs(calls[alike]).sum()))
        calls[alike] *= left
        own[function] *= left if of_code else 1.0
    return replace(found, calls=calls, self_cost=own)
