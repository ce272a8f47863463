"""What changed, in parts of the excess: the rows that reports show and sentences are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from whyperf.engines.call_counts.attribution import BlameSettings, attribute
from whyperf.engines.call_counts.counted import CallPlace, CountedProgram
from whyperf.engines.call_counts.netting import netted
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
