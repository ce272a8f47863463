"""The cost ranking of section 3.4.1: raw costs, each multiplied by one minus its function's lowest discount.

Discounts compare one normal with one buggy profile, the first of each kind; the hist-discounter crosses all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values.loading import SideReadings, has_values, portions
from whyperf.engines.values.paper.costs import RawCosts, history_discount
from whyperf.engines.values.paper.discounts import Discount, discount, shallow
from whyperf.engines.values.paper.monitored import basic, monitored
from whyperf.engines.values.settings import ValuesPaperSettings, ValuesSettings
from whyperf.engines.values.statistics import Compare
from whyperf.engines.values.timeline import timeline
from whyperf.engines.values.variables import Variable, VariableIndex
from whyperf.optional import has_numba
from whyperf.recording.names.identity import FunctionKey


@dataclass(frozen=True)
class Calibrated:
    function: FunctionKey
    number: int
    raw_s: float
    discount: float
    cost_s: float
    variable: int | None  # the anomalous one with the lowest discount; where none is, the one with the lowest
    of_variable: Discount | None  # None: by rank alone
    has_basic: bool  # some variable of a basic type was read in it


@dataclass(frozen=True)
class Ranking:
    functions: tuple[Calibrated, ...]  # by calibrated cost, largest first
    variables: tuple[Variable, ...]
    good: SideReadings
    bad: SideReadings
    settings: ValuesPaperSettings


@dataclass
class _Lowest:
    """Of one function's variables."""

    ratio: float
    variable: int
    discount: Discount
    has_basic: bool

    def add(self, variable: int, discount: Discount, is_basic: bool) -> None:
        self.ratio = min(self.ratio, discount.ratio)
        self.has_basic |= is_basic
        if (not discount.anomalous, discount.ratio) < (not self.discount.anomalous, self.discount.ratio):
            self.variable, self.discount = variable, discount


def rank(good: Sequence[Run], bad: Sequence[Run], settings: ValuesPaperSettings | None = None) -> Ranking | None:
    """None where recordings of either kind hold no values."""
    settings = settings or ValuesPaperSettings()
    good, bad = [run for run in good if has_values(run)], [run for run in bad if has_values(run)]
    if not good or not bad:
        return None
    functions = FunctionIndex(good, bad)
    variables = VariableIndex(functions)
    sides = {run: SideReadings([run], functions, variables) for run in (*good, *bad)}
    costs = {run: RawCosts(run, functions, timeline(run), settings) for run in sides}
    lowest = _discounts(variables, sides, costs, (good[0], bad[0]), settings)
    raw = {run: cost.seconds() for run, cost in costs.items()}
    normal, buggy = [raw[run] for run in good], [raw[run] for run in bad]
    calibrated = []
    for number in range(len(functions.functions)):
        if buggy[0][number] > 0:
            found = lowest.get(number)
            ratio = history_discount(normal, buggy, number, settings) if found is None else found.ratio
            calibrated.append(_calibrated(functions, number, float(buggy[0][number]), ratio, found))
    calibrated.sort(key=lambda one: (-one.cost_s, one.function.name, one.function.module))
    return Ranking(tuple(calibrated), tuple(variables.variables), sides[good[0]], sides[bad[0]], settings)


def _discounts(
    variables: VariableIndex,
    sides: dict[Run, SideReadings],
    costs: dict[Run, RawCosts],
    pair: tuple[Run, Run],
    settings: ValuesPaperSettings,
) -> dict[int, _Lowest]:
    """Per function the variable with the lowest discount."""
    normal, buggy = pair
    merge = _merge(sides)
    lowest: dict[int, _Lowest] = {}
    order = sorted(monitored(variables.variables), key=sides[buggy].first_row)
    for portion in portions(order, list(sides.values())):
        loaded = {run: side.load(portion) for run, side in sides.items()}
        for number in portion:
            variable = variables.variables[number]
            read = {run: shallow(side.of(number), settings) for run, side in loaded.items()}
            for run, readings in read.items():
                costs[run].mark(readings)
            if not len(read[buggy]):
                continue
            found = discount(read[normal], read[buggy], variable.kind, settings, merge)
            for function in costs[buggy].attributed_to(variable, read[buggy]):
                fresh = _Lowest(found.ratio, number, found, basic(variable.kind))
                lowest.setdefault(function, fresh).add(number, found, basic(variable.kind))
    return lowest


def _merge(sides: dict[Run, SideReadings]) -> Compare | None:
    if sum(side.total for side in sides.values()) < ValuesSettings().compiled_from or not has_numba():
        return None
    from whyperf.engines.values.compiled_statistics import merge_sorted

    compiled: Compare = merge_sorted
    return compiled


def _calibrated(functions: FunctionIndex, number: int, raw: float, ratio: float, lowest: _Lowest | None) -> Calibrated:
    return Calibrated(
        function=functions.functions[number].key,
        number=number,
        raw_s=raw,
        discount=ratio,
        cost_s=(1.0 - ratio) * raw,
        variable=None if lowest is None else lowest.variable,
        of_variable=None if lowest is None else lowest.discount,
        has_basic=lowest is not None and lowest.has_basic,
    )
