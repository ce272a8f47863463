"""The comparison: every variable judged, the abnormal ones told, and how abnormal each function's data are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whyperf.engines.execution import HERE, Executor
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import ONE_RUN, Run, common_unit
from whyperf.engines.values.counters import CounterGrowth, Tracking
from whyperf.engines.values.kinds import Dimension, ValueKind
from whyperf.engines.values.loading import has_values
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.statistics import discoveries
from whyperf.engines.values.value_summary import Contrast
from whyperf.engines.values.variable_comparison import Judging, VariableCandidate, VariableOutcome
from whyperf.engines.values.variable_test import Tested, VariableStatus
from whyperf.engines.values.variables import GLOBAL, Variable
from whyperf.recording.names.identity import FunctionKey

# What a condition or a loop looks at; what is merely passed on decides elsewhere.
_DECIDING_ROLES = frozenset({"condition", "loop"})
_MOST = 2 / 3


@dataclass(frozen=True)
class Abnormal:
    """One abnormal variable in its most telling dimension."""

    variable: Variable
    function: FunctionKey | None  # None for globals
    dimension: Dimension
    distance: float
    within: float
    p: float | None  # None where whole runs stand apart
    anomaly: float  # 0 to 1
    decides: bool  # the function's course may depend on it
    growth: CounterGrowth | None  # of a counter
    contrast: Contrast


@dataclass(frozen=True)
class Values:
    functions: FunctionIndex
    outcomes: tuple[VariableOutcome, ...]
    abnormal: tuple[Abnormal, ...]  # those that decide first, the most abnormal first
    anomaly: Mapping[FunctionKey, float]  # of the data by which a function decides
    own_anomaly: Mapping[FunctionKey, float]  # with how they change and stay, which slower callees change as well
    normal: Set[FunctionKey]  # functions whose deciding data were compared and are what they were
    steady: Set[FunctionKey]  # functions whose loops' data were
    limit: float  # the largest p to believe; negative where none is
    unit: str  # of work: what counters grow by is counted per
    settings: ValuesSettings

    def of(self, function: FunctionKey) -> list[Abnormal]:
        """What may be cited of a function's data."""
        return [one for one in self.cited if one.function == function]

    @cached_property
    def cited(self) -> tuple[Abnormal, ...]:
        """Without what slower code alone explains."""
        return tuple(one for one in self.abnormal if not _is_slowness(one))

    @property
    def run_constants(self) -> list[Variable]:
        """Constant in each run and different: several runs would tell settings from process ids."""
        return [one.variable for one in self.outcomes if one.status is VariableStatus.RUN_CONSTANT]


def _is_slowness(one: Abnormal) -> bool:
    """Whether the variable merely changes less from sample to sample: so does all that a slower loop changes.

    How long it stays was weighed against the function's slowness when it was tested.
    """
    good, bad = one.contrast.good, one.contrast.bad
    if one.dimension is not Dimension.DELTA:
        return False
    if bad.typical == good.typical == 0:
        return bad.at_typical >= good.at_typical
    return abs(bad.typical) < abs(good.typical)


def compare(
    good: Sequence[Run],
    bad: Sequence[Run],
    *,
    per_unit: bool = True,
    settings: ValuesSettings | None = None,
    executor: Executor = HERE,
) -> Values | None:
    """None where recordings of either kind hold no values."""
    settings = settings or ValuesSettings()
    good, bad = [run for run in good if has_values(run)], [run for run in bad if has_values(run)]
    if not good or not bad:
        return None
    index = FunctionIndex(good, bad)
    outcomes, candidates = Judging(index, per_unit, settings, executor).all(executor)
    limit = _limit(outcomes, settings)
    analysed = {outcome.variable.function for outcome in outcomes if outcome.variable.roles}
    keys = [function.key for function in index.functions]
    found = (
        _abnormal(outcomes[one.at], one, limit=limit, keys=keys, analysed=analysed, settings=settings)
        for one in candidates
    )
    abnormal = sorted((one for one in found if one is not None), key=_telling_first)
    deciding = [one for one in abnormal if one.decides]
    anomaly = _most_abnormal(one for one in deciding if one.dimension is Dimension.VALUE)
    return Values(
        functions=index,
        outcomes=tuple(outcomes),
        abnormal=tuple(abnormal),
        anomaly=anomaly,
        own_anomaly=_most_abnormal(deciding),
        normal=_unchanged(outcomes, keys, lambda variable: _decides(variable, analysed)) - anomaly.keys(),
        steady=_unchanged(outcomes, keys, lambda variable: "loop" in variable.roles) - anomaly.keys(),
        limit=limit,
        unit=common_unit((*good, *bad)) if per_unit else ONE_RUN,
        settings=settings,
    )


def _limit(outcomes: Sequence[VariableOutcome], settings: ValuesSettings) -> float:
    """The largest p to believe, with all variables that were looked at in the count (Benjamini and Hochberg)."""
    p = np.array([outcome.p for outcome in outcomes if outcome.screened])
    believed = int(np.count_nonzero(discoveries(p, settings.discovery_rate)))
    return settings.discovery_rate * believed / max(1, len(p)) if believed else -1.0


def _abnormal(
    outcome: VariableOutcome,
    candidate: VariableCandidate,
    *,
    limit: float,
    keys: Sequence[FunctionKey],
    analysed: Set[int],
    settings: ValuesSettings,
) -> Abnormal | None:
    """The most telling of the dimensions that hold; None if none does."""
    several = sum(test.status not in (VariableStatus.NEW, VariableStatus.FEW) for test in outcome.tests)
    holds = [
        test
        for test in outcome.tests
        if test.dimension in candidate.contrasts and (test.status is VariableStatus.APART or several * test.p <= limit)
    ]
    if not holds:
        return None
    best = max(holds, key=lambda test: _weight(test, settings))
    variable = outcome.variable
    return Abnormal(
        variable=variable,
        function=None if variable.function == GLOBAL else keys[variable.function],
        dimension=best.dimension,
        distance=best.distance,
        within=best.within,
        p=None if best.status is VariableStatus.APART else several * best.p,
        anomaly=min(1.0, _weight(best, settings)),
        decides=_decides(variable, analysed),
        growth=outcome.growth if outcome.growth.tracking is Tracking.CHANGED else None,
        contrast=candidate.contrasts[best.dimension],
    )


def _weight(test: Tested, settings: ValuesSettings) -> float:
    return test.distance * (1.0 if test.dimension is Dimension.VALUE else settings.indirect_weight)


def _telling_first(one: Abnormal) -> tuple[bool, float, str]:
    return (not one.decides, -one.anomaly, one.variable.name)


def _decides(variable: Variable, analysed: Set[int]) -> bool:
    """Whether a function's course depends on the variable; where its source is unknown, every variable may decide.

    Objects have many fields, and most of those that can be read in a function mean nothing to it.
    """
    return variable.function not in analysed or not variable.roles.isdisjoint(_DECIDING_ROLES)


def _most_abnormal(abnormal: Iterable[Abnormal]) -> dict[FunctionKey, float]:
    found: dict[FunctionKey, float] = {}
    for one in abnormal:
        if one.function is not None:
            found[one.function] = max(found.get(one.function, 0.0), one.anomaly)
    return found


def _unchanged(
    outcomes: Sequence[VariableOutcome], keys: Sequence[FunctionKey], wanted: Callable[[Variable], bool]
) -> set[FunctionKey]:
    """Functions of which most wanted variables were compared and hold what they held. That a pointer points to the
    heap as ever says nothing."""
    compared: dict[int, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        variable = outcome.variable
        if variable.function != GLOBAL and variable.kind is not ValueKind.POINTER and wanted(variable):
            compared[variable.function].append(outcome.same_value)
    return {keys[function] for function, same in compared.items() if sum(same) >= _MOST * len(same)}
