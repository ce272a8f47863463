"""The comparison: every variable judged, the abnormal ones told, and how abnormal each function's data are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values.counters import Growth, Tracking
from whyperf.engines.values.inheritance import Party, passed_on
from whyperf.engines.values.judging import Candidate, Judging, Outcome
from whyperf.engines.values.kinds import Dimension
from whyperf.engines.values.readings import has_values
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.sound import Status, Tested
from whyperf.engines.values.spread import Contrast
from whyperf.engines.values.statistics import discoveries
from whyperf.engines.values.variables import GLOBAL, Variable
from whyperf.recording.identity import FunctionKey


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
    growth: Growth | None  # of a counter
    contrast: Contrast


@dataclass(frozen=True)
class Values:
    functions: FunctionIndex
    outcomes: tuple[Outcome, ...]
    abnormal: tuple[Abnormal, ...]  # by anomaly, largest first
    anomaly: Mapping[FunctionKey, float]
    anomaly_under: Mapping[tuple[FunctionKey, FunctionKey], float]  # of a callee when called by that caller
    settings: ValuesSettings

    def of(self, function: FunctionKey) -> list[Abnormal]:
        return [one for one in self.abnormal if one.function == function]

    @property
    def run_constants(self) -> list[Variable]:
        """Constant in each run and different: several runs would tell settings from process ids."""
        return [one.variable for one in self.outcomes if one.status is Status.RUN_CONSTANT]


def compare(
    good: Sequence[Run], bad: Sequence[Run], *, per_unit: bool = True, settings: ValuesSettings | None = None
) -> Values | None:
    """None where recordings of either kind hold no values."""
    settings = settings or ValuesSettings()
    good, bad = [run for run in good if has_values(run)], [run for run in bad if has_values(run)]
    if not good or not bad:
        return None
    judging = Judging(good, bad, per_unit, settings)
    outcomes, candidates = judging.all()
    limit = _limit(outcomes, settings)
    accepted = [
        (one, abnormal)
        for one in candidates
        if (abnormal := _abnormal(judging.functions, outcomes[one.at], one, limit, settings)) is not None
    ]
    accepted.sort(key=lambda pair: (-pair[1].anomaly, pair[1].variable.name))
    whole, under = _of_functions(accepted, judging.functions, settings)
    return Values(judging.functions, tuple(outcomes), tuple(one for _, one in accepted), whole, under, settings)


def _limit(outcomes: Sequence[Outcome], settings: ValuesSettings) -> float:
    """The largest p to believe, with all variables that were looked at in the count (Benjamini and Hochberg)."""
    p = np.array([outcome.p for outcome in outcomes if outcome.screened])
    believed = int(np.count_nonzero(discoveries(p, settings.discovery_rate)))
    return settings.discovery_rate * believed / max(1, len(p)) if believed else -1.0


def _abnormal(
    functions: FunctionIndex, outcome: Outcome, candidate: Candidate, limit: float, settings: ValuesSettings
) -> Abnormal | None:
    """The most telling of the dimensions that hold; None if none does."""
    several = sum(test.status not in (Status.NEW, Status.FEW) for test in outcome.tests)
    holds = [
        test
        for test in outcome.tests
        if test.dimension in candidate.contrasts and (test.status is Status.APART or several * test.p <= limit)
    ]
    if not holds:
        return None
    best = max(holds, key=lambda test: _weight(test, settings))
    variable = outcome.variable
    return Abnormal(
        variable=variable,
        function=None if variable.function == GLOBAL else functions.functions[variable.function].key,
        dimension=best.dimension,
        distance=best.distance,
        within=best.within,
        p=None if best.status is Status.APART else several * best.p,
        anomaly=min(1.0, _weight(best, settings)),
        growth=outcome.growth if outcome.growth.tracking is Tracking.CHANGED else None,
        contrast=candidate.contrasts[best.dimension],
    )


def _weight(test: Tested, settings: ValuesSettings) -> float:
    return test.distance * (1.0 if test.dimension is Dimension.VALUE else settings.indirect_weight)


def _of_functions(
    accepted: Sequence[tuple[Candidate, Abnormal]], functions: FunctionIndex, settings: ValuesSettings
) -> tuple[dict[FunctionKey, float], dict[tuple[FunctionKey, FunctionKey], float]]:
    """Each function's best variable; and what is left of it under callers that passed the bad value."""
    parties: dict[int, list[Party]] = defaultdict(list)
    for candidate, abnormal in accepted:
        if abnormal.variable.function != GLOBAL:
            passes = abnormal.variable.is_parameter and abnormal.dimension is Dimension.VALUE
            parties[abnormal.variable.function].append(
                Party(abnormal.variable.function, abnormal.anomaly, passes, candidate.kept)
            )
    everybody = [party for several in parties.values() for party in several]
    whole: dict[FunctionKey, float] = {}
    under: dict[tuple[FunctionKey, FunctionKey], float] = {}
    for function, own in parties.items():
        key = functions.functions[function].key
        whole[key] = max(party.anomaly for party in own)
        passed = [(party, passed_on(party, everybody, settings)) for party in own]
        for caller in set().union(*(callers for _, callers in passed)):
            left = max((party.anomaly for party, callers in passed if caller not in callers), default=0.0)
            under[key, functions.functions[caller].key] = left
    return whole, under
