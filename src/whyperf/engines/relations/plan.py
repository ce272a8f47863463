"""What to zoom into, from two sketches: the way to what changed, what may have fed it, and all that costs little."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whyperf.engines.arrays import Bools, Floats
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.relations.changed_relations.symptoms import check_versions
from whyperf.engines.relations.counting import changed_functions, symptom_weights
from whyperf.engines.relations.executions.catalogue import NONE
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.relations.sketch import Sketches, load_sketches
from whyperf.engines.run import Run
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.symptom import SymptomSpec
from whyperf.recording.zoom import ZoomPlan


def plan_zoom(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    spec: SymptomSpec,
    also: Sequence[FunctionKey] = (),
) -> ZoomPlan:
    """`also`: functions that must be watched whatever they cost, such as those that update the variable asked about."""
    check_versions((*good, *bad), spec)
    sketches = load_sketches([Run(one) for one in good], [Run(one) for one in bad])
    return plan_of(sketches, spec, also, RelationsSettings())


def plan_of(
    sketches: Sketches, spec: SymptomSpec, also: Sequence[FunctionKey], settings: RelationsSettings
) -> ZoomPlan:
    cost = _cost(sketches)
    on_way = _on_way(sketches, spec, settings)
    beside = _beside(sketches, on_way)
    wanted = dict.fromkeys(also)
    spent = sum(float(cost[n]) for n, function in enumerate(sketches.functions) if function.key in wanted)
    eligible = [number for number in range(len(sketches.functions)) if cost[number] > 0 and sketches.own[number]]
    changed = [number for number in changed_functions(sketches, spec, settings) if number in eligible]
    rest = sorted(eligible, key=lambda number: (not on_way[number], not beside[number], float(cost[number]), number))
    for numbers, budget in ((changed, settings.zoom_changed), (rest, settings.zoom_others)):
        left = budget
        for number in numbers:
            key = sketches.functions[number].key
            most = max(left, settings.zoom_first) if number in changed[:1] else left
            if key not in wanted and cost[number] <= most:
                left -= float(cost[number])
                wanted[key] = None
        spent += budget - left
    costliest = sorted(eligible, key=lambda number: (-float(cost[number]), number))
    left_out = [key for number in costliest if (key := sketches.functions[number].key) not in wanted]
    return ZoomPlan(str(spec), tuple(wanted), tuple(left_out), int(spent))


def _cost(sketches: Sketches) -> Floats:
    """By function: instructions that one run executes in it, in the costlier side."""
    known = sketches.function >= 0
    per_side = [
        np.bincount(sketches.function[known], weights=side.instructions[known], minlength=len(sketches.functions))
        / side.runs
        for side in sketches.sides
    ]
    return np.maximum(*per_side)


def _on_way(sketches: Sketches, spec: SymptomSpec, settings: RelationsSettings) -> Bools:
    """Functions in contexts that hold a material part of the symptom's change."""
    _, good, bad = symptom_weights(sketches, spec)
    grown = sketches.below(bad / sketches.bad.runs) - sketches.below(good / sketches.good.runs)
    total = float((bad / sketches.bad.runs).sum() - (good / sketches.good.runs).sum())
    nodes = np.abs(grown) >= settings.least_contribution * abs(total)
    found = np.zeros(len(sketches.functions), np.bool_)
    found[sketches.function[nodes & (sketches.function >= 0)]] = True
    return found


def _beside(sketches: Sketches, on_way: Bools) -> Bools:
    """What functions on the way call: their results are what is tested there."""
    caller = np.where(sketches.parent >= 0, sketches.function[np.maximum(sketches.parent, 0)], NONE)
    called = (caller >= 0) & on_way[np.maximum(caller, 0)] & (sketches.function >= 0)
    found = np.zeros(len(sketches.functions), np.bool_)
    found[sketches.function[called]] = True
    return found
