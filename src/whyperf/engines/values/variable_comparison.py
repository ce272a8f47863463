"""Every variable judged, in the order in which the recordings store them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from whyperf.engines.execution import HERE, Executor
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, texts
from whyperf.engines.values.counters import CounterGrowth, Track, Tracking, evenly, judge_growth
from whyperf.engines.values.kinds import Dimension, ValueKind, numbers, ordered
from whyperf.engines.values.loading import LoadedReadings, SideReadings, portions
from whyperf.engines.values.readings import Readings, sequences
from whyperf.engines.values.readings import Sequence as Compared
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.statistics import Compare
from whyperf.engines.values.value_summary import Contrast, FramePlaces, contrast
from whyperf.engines.values.variable_test import Tested, VariableStatus, examine_dimension, examine_few
from whyperf.engines.values.variables import GLOBAL, Variable, VariableIndex
from whyperf.optional import has_numba

# Beyond this difference of sampling rates a value's stay, counted in samples, cannot be compared.
_SAME_RATE = 1.1


@dataclass(frozen=True)
class VariableOutcome:
    """What is known of one variable."""

    variable: Variable
    tests: tuple[Tested, ...]
    growth: CounterGrowth

    @property
    def status(self) -> VariableStatus:
        found = {test.status for test in self.tests}
        order = (
            VariableStatus.APART,
            VariableStatus.TESTED,
            VariableStatus.RUN_CONSTANT,
            VariableStatus.INSUFFICIENT,
            VariableStatus.SAME,
            VariableStatus.NEW,
        )
        return next((status for status in order if status in found), VariableStatus.FEW)

    @property
    def same_value(self) -> bool:
        """Compared and found the same, whatever its changes and stays are."""
        return any(test.dimension is Dimension.VALUE and test.status is VariableStatus.SAME for test in self.tests)

    @property
    def screened(self) -> bool:
        return self.status not in (VariableStatus.NEW, VariableStatus.FEW)

    @property
    def p(self) -> float:
        """Of its most telling dimension, times the number of dimensions that were looked at."""
        looked_at = [test for test in self.tests if test.status not in (VariableStatus.NEW, VariableStatus.FEW)]
        tested = [test.p for test in looked_at if test.status is VariableStatus.TESTED]
        return min(1.0, len(looked_at) * min(tested, default=1.0))


@dataclass(frozen=True)
class VariableCandidate:
    at: int  # of the outcomes
    contrasts: Mapping[Dimension, Contrast]


_Judged = tuple[VariableOutcome, Mapping[Dimension, Contrast]]  # contrasts in the dimensions that may tell


@dataclass(frozen=True)
class _Both:
    """What one variable held on either side."""

    variable: Variable
    number: int
    sides: tuple[LoadedReadings, LoadedReadings]
    good: Readings
    bad: Readings

    def sequences(self, dimensions: Sequence[Dimension]) -> tuple[dict[Dimension, Compared], dict[Dimension, Compared]]:
        good, bad = (
            sequences(readings, loaded.succession(self.number), self.variable.kind, dimensions)
            for readings, loaded in zip((self.good, self.bad), self.sides, strict=True)
        )
        return good, bad


class Judging:
    """Walks through all variables, in the order in which they are stored."""

    def __init__(
        self, functions: FunctionIndex, per_unit: bool, settings: ValuesSettings, executor: Executor = HERE
    ) -> None:
        good, bad = functions.good, functions.bad
        index = VariableIndex(functions)
        self.settings, self._variables = settings, index.variables
        self._good = SideReadings(good, functions, index, executor)
        self._bad = SideReadings(bad, functions, index, executor)
        self._places = FramePlaces(self._bad)
        self._units = {run: run.work.count if per_unit else 1.0 for run in (*good, *bad)}
        self._same_text = len({_builds(run) for run in (*good, *bad)}) == 1
        rates = [run.manifest.sampling.rate_hz for run in (*good, *bad)]
        self._same_rate = max(rates) <= _SAME_RATE * min(rates)
        self._is_large = self._good.total + self._bad.total >= settings.compiled_from

    @property
    def _merge(self) -> Compare | None:
        return _compiled_merge() if self._is_large else None

    def all(self, executor: Executor = HERE) -> tuple[list[VariableOutcome], list[VariableCandidate]]:
        numbered = [
            number
            for number, variable in enumerate(self._variables)
            if not variable.is_identity and self._bad.count(number)
        ]
        numbered.sort(key=self._bad.first_row)
        several = list(portions(numbered, (self._good, self._bad)))
        outcomes: list[VariableOutcome] = []
        candidates: list[VariableCandidate] = []
        for judged in executor.map("comparing values", _judge, self, several):
            for outcome, contrasts in judged:
                if contrasts:
                    candidates.append(VariableCandidate(len(outcomes), contrasts))
                outcomes.append(outcome)
        return outcomes, candidates

    def judge(self, portion: Sequence[int]) -> list[_Judged]:
        known = [number for number in portion if not self._is_new(number)]
        sides = self._good.load(known), self._bad.load(known)
        judged: list[_Judged] = []
        for number in portion:
            variable = self._variables[number]
            if self._is_new(number):
                judged.append(
                    (
                        VariableOutcome(
                            variable, (Tested(Dimension.VALUE, VariableStatus.NEW),), CounterGrowth(Tracking.NO)
                        ),
                        {},
                    )
                )
            else:
                judged.append(self._one(_Both(variable, number, sides, *(side.of(number) for side in sides))))
        return judged

    def _is_new(self, number: int) -> bool:
        return self._good.count(number) == 0 and self._bad.count(number) >= self.settings.minimum_readings

    def _one(self, both: _Both) -> _Judged:
        if min(len(both.good), len(both.bad)) < self.settings.minimum_readings:
            return self._few(both)
        growth = self._growth(both)
        if growth.tracking in (Tracking.CLOCK, Tracking.SAME):
            return VariableOutcome(both.variable, (Tested(Dimension.VALUE, VariableStatus.SAME),), growth), {}
        if growth.tracking is Tracking.UNSURE:
            test = Tested(Dimension.VALUE, VariableStatus.INSUFFICIENT, growth.distance, growth.within)
            return VariableOutcome(both.variable, (test,), growth), {}
        judged = self._compared(both, growth)
        # A global is read wherever a sample falls: at the same places both kinds may have read it hardly ever.
        seldom = both.variable.function == GLOBAL and judged[0].status is VariableStatus.FEW
        return self._few(both) if seldom else judged

    def _few(self, both: _Both) -> _Judged:
        test, variable = None, both.variable
        if variable.kind.numeric and len(both.good) and len(both.bad):
            sides = [numbers(variable.kind, ordered(variable.kind, side.raw)) for side in (both.good, both.bad)]
            test = examine_few(sides[0], sides[1], (_runs_with(both.good), _runs_with(both.bad)), self.settings)
        if test is None:
            return VariableOutcome(
                variable, (Tested(Dimension.VALUE, VariableStatus.FEW),), CounterGrowth(Tracking.NO)
            ), {}
        here, there = both.sequences((Dimension.VALUE,))
        contrasts = self._contrast(variable, Dimension.VALUE, here[Dimension.VALUE], there[Dimension.VALUE])
        return VariableOutcome(variable, (test,), CounterGrowth(Tracking.NO)), {Dimension.VALUE: contrasts}

    def _contrast(self, variable: Variable, dimension: Dimension, good: Compared, bad: Compared) -> Contrast:
        return contrast(good, bad, self._places, self.settings, variable=variable, dimension=dimension)

    def _compared(self, both: _Both, growth: CounterGrowth) -> _Judged:
        tests: list[Tested] = []
        contrasts: dict[Dimension, Contrast] = {}
        variable, dimensions = both.variable, self._dimensions(both.variable, growth)
        here, there = both.sequences(dimensions)
        for dimension in dimensions:
            test = self._test(dimension, here[dimension], there[dimension], growth)
            tests.append(test)
            if test.telling and test.p <= self.settings.discovery_rate:
                found = self._contrast(variable, dimension, here[dimension], there[dimension])
                if dimension is not Dimension.DURATION or not self._slower_all_over(both, found):
                    contrasts[dimension] = found
        return VariableOutcome(variable, tuple(tests), growth), contrasts

    def _slower_all_over(self, both: _Both, stays: Contrast) -> bool:
        """Whether the variable stays no longer than the function as such takes longer: that says nothing of it."""
        good, bad = (
            len(readings) / sum(self._units[run] for run in side.runs)
            for readings, side in ((both.good, self._good), (both.bad, self._bad))
        )
        return stays.bad.high <= self.settings.stays_longer * max(1.0, bad / good) * stays.good.high

    def _test(self, dimension: Dimension, good: Compared, bad: Compared, growth: CounterGrowth) -> Tested:
        if growth.tracking is Tracking.CHANGED:
            return Tested(dimension, VariableStatus.APART, growth.distance, growth.within, 0.0)
        test = examine_dimension(dimension, good, bad, self.settings, same_text=self._same_text, merge=self._merge)
        # Of several runs, the others did not read it at the same places.
        seldom = test.status is VariableStatus.RUN_CONSTANT and min(len(self._good.runs), len(self._bad.runs)) > 1
        return Tested(dimension, VariableStatus.FEW) if seldom else test

    def _dimensions(self, variable: Variable, growth: CounterGrowth) -> tuple[Dimension, ...]:
        if growth.tracking is Tracking.CHANGED:
            return (Dimension.VALUE,)
        dimensions = variable.kind.dimensions
        if variable.function == GLOBAL or not self._same_rate:
            # A global is not read in every sample: how long it stays is not seen.
            return tuple(one for one in dimensions if one is Dimension.VALUE)
        return dimensions

    def _growth(self, both: _Both) -> CounterGrowth:
        kind = both.variable.kind
        if not kind.numeric:
            return CounterGrowth(Tracking.NO)
        here, there = self._tracks(kind, both.good, self._good), self._tracks(kind, both.bad, self._bad)
        return judge_growth(here, there, self.settings)

    def _tracks(self, kind: ValueKind, readings: Readings, side: SideReadings) -> list[Track]:
        tracks = []
        for run, start, stop in zip(
            side.runs, readings.starts[:-1].tolist(), readings.starts[1:].tolist(), strict=True
        ):
            few = evenly(start, stop)
            values = numbers(kind, ordered(kind, np.ascontiguousarray(readings.raw[few])))
            tracks.append(Track(values, readings.time[few], self._units[run]))
        return tracks


def _judge(judging: Judging, portion: Sequence[int]) -> list[_Judged]:
    return judging.judge(portion)


def _runs_with(readings: Readings) -> int:
    return int(np.count_nonzero(np.diff(readings.starts)))


def _builds(run: Run) -> frozenset[str]:
    """What identifies the programs that ran."""
    table = run.recording.table("modules")
    columns = zip(texts(table, "name"), texts(table, "build_id"), texts(table, "origin"), strict=True)
    return frozenset(f"{name} {build}" for name, build, origin in columns if origin == "program")


@cache
def _compiled_merge() -> Compare | None:
    """Where this process has a compiler: a cluster's worker may have none."""
    if not has_numba():
        return None
    from whyperf.engines.values.compiled_statistics import merge_sorted

    compiled: Compare = merge_sorted
    return compiled
