"""Every variable judged, in the order in which the recordings store them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run, texts
from whyperf.engines.values.counters import Growth, Track, Tracking, evenly, judge_growth
from whyperf.engines.values.kinds import Dimension, Kind, numbers, ordered
from whyperf.engines.values.readings import Readings, SideReadings, sequences
from whyperf.engines.values.readings import Sequence as Compared
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.sound import Status, Tested, examine_dimension, examine_few
from whyperf.engines.values.spread import Contrast, Places, contrast
from whyperf.engines.values.statistics import Compare
from whyperf.engines.values.variables import GLOBAL, Variable, VariableIndex

# Beyond this difference of sampling rates a value's stay, counted in samples, cannot be compared.
_SAME_RATE = 1.1


@dataclass(frozen=True)
class Outcome:
    """What is known of one variable."""

    variable: Variable
    tests: tuple[Tested, ...]
    growth: Growth

    @property
    def status(self) -> Status:
        found = {test.status for test in self.tests}
        order = (Status.APART, Status.TESTED, Status.RUN_CONSTANT, Status.INSUFFICIENT, Status.SAME, Status.NEW)
        return next((status for status in order if status in found), Status.FEW)

    @property
    def same_value(self) -> bool:
        """Compared and found the same, whatever its changes and stays are."""
        return any(test.dimension is Dimension.VALUE and test.status is Status.SAME for test in self.tests)

    @property
    def screened(self) -> bool:
        return self.status not in (Status.NEW, Status.FEW)

    @property
    def p(self) -> float:
        """Of its most telling dimension, times the number of dimensions that were looked at."""
        looked_at = [test for test in self.tests if test.status not in (Status.NEW, Status.FEW)]
        tested = [test.p for test in looked_at if test.status is Status.TESTED]
        return min(1.0, len(looked_at) * min(tested, default=1.0))


@dataclass(frozen=True)
class Candidate:
    at: int  # of the outcomes
    contrasts: Mapping[Dimension, Contrast]


class Judging:
    """Walks through all variables, in the order in which they are stored."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run], per_unit: bool, settings: ValuesSettings) -> None:
        self.settings = settings
        self.functions = FunctionIndex(good, bad)
        self.variables = VariableIndex(self.functions)
        self.good = SideReadings(good, self.functions, self.variables)
        self.bad = SideReadings(bad, self.functions, self.variables)
        self.places = Places(bad, self.bad.frame_start)
        self.units = {run: run.work.count if per_unit else 1.0 for run in (*good, *bad)}
        self.same_text = len({_builds(run) for run in (*good, *bad)}) == 1
        rates = [run.manifest.sampling.rate_hz for run in (*good, *bad)]
        self.same_rate = max(rates) <= _SAME_RATE * min(rates)
        self.merge = self._merge()

    def _merge(self) -> Compare | None:
        if self.good.total + self.bad.total < self.settings.compiled_from:
            return None
        from whyperf.engines.values.kernels import merge_sorted

        compiled: Compare = merge_sorted
        return compiled

    def all(self) -> tuple[list[Outcome], list[Candidate]]:
        numbered = [
            number
            for number, variable in enumerate(self.variables.variables)
            if not variable.is_identity and self.bad.count(number)
        ]
        numbered.sort(key=self.bad.first_row)
        outcomes: list[Outcome] = []
        candidates: list[Candidate] = []
        for number in numbered:
            outcome, candidate = self._one(number, len(outcomes))
            outcomes.append(outcome)
            if candidate is not None:
                candidates.append(candidate)
        return outcomes, candidates

    def _one(self, number: int, at: int) -> tuple[Outcome, Candidate | None]:
        variable = self.variables.variables[number]
        fewest = self.settings.minimum_readings
        good_count, bad_count = self.good.count(number), self.bad.count(number)
        if good_count == 0 and bad_count >= fewest:
            return Outcome(variable, (Tested(Dimension.VALUE, Status.NEW),), Growth(Tracking.NO)), None
        good, bad = self.good.of(number, variable.kind), self.bad.of(number, variable.kind)
        if min(len(good), len(bad)) < fewest:
            return self._few(variable, good, bad, at)
        growth = self._growth(variable, good, bad)
        if growth.tracking in (Tracking.CLOCK, Tracking.SAME):
            return Outcome(variable, (Tested(Dimension.VALUE, Status.SAME),), growth), None
        if growth.tracking is Tracking.UNSURE:
            test = Tested(Dimension.VALUE, Status.INSUFFICIENT, growth.distance, growth.within)
            return Outcome(variable, (test,), growth), None
        return self._compared(variable, good, bad, growth, at)

    def _few(self, variable: Variable, good: Readings, bad: Readings, at: int) -> tuple[Outcome, Candidate | None]:
        test = None
        if variable.kind.numeric and len(good) and len(bad):
            sides = [numbers(variable.kind, ordered(variable.kind, side.raw)) for side in (good, bad)]
            test = examine_few(sides[0], sides[1], (_runs_with(good), _runs_with(bad)), self.settings)
        if test is None:
            return Outcome(variable, (Tested(Dimension.VALUE, Status.FEW),), Growth(Tracking.NO)), None
        value = (Dimension.VALUE,)
        here = sequences(good, variable.kind, value, self.good.timeline)[Dimension.VALUE]
        there = sequences(bad, variable.kind, value, self.bad.timeline)[Dimension.VALUE]
        contrasts = {Dimension.VALUE: self._contrast(variable, Dimension.VALUE, here, there)}
        return Outcome(variable, (test,), Growth(Tracking.NO)), Candidate(at, contrasts)

    def _contrast(self, variable: Variable, dimension: Dimension, good: Compared, bad: Compared) -> Contrast:
        return contrast(good, bad, self.places, self.settings, kind=variable.kind, dimension=dimension)

    def _compared(
        self, variable: Variable, good: Readings, bad: Readings, growth: Growth, at: int
    ) -> tuple[Outcome, Candidate | None]:
        tests: list[Tested] = []
        contrasts: dict[Dimension, Contrast] = {}
        dimensions = self._dimensions(variable, growth)
        here = sequences(good, variable.kind, dimensions, self.good.timeline)
        there = sequences(bad, variable.kind, dimensions, self.bad.timeline)
        for dimension in dimensions:
            test = self._test(dimension, here[dimension], there[dimension], growth)
            tests.append(test)
            if test.telling and test.p <= self.settings.discovery_rate:
                contrasts[dimension] = self._contrast(variable, dimension, here[dimension], there[dimension])
        outcome = Outcome(variable, tuple(tests), growth)
        if not contrasts:
            return outcome, None
        return outcome, Candidate(at, contrasts)

    def _test(self, dimension: Dimension, good: Compared, bad: Compared, growth: Growth) -> Tested:
        if growth.tracking is Tracking.CHANGED:
            return Tested(dimension, Status.APART, growth.distance, growth.within, 0.0)
        return examine_dimension(dimension, good, bad, self.settings, same_text=self.same_text, merge=self.merge)

    def _dimensions(self, variable: Variable, growth: Growth) -> tuple[Dimension, ...]:
        if growth.tracking is Tracking.CHANGED:
            return (Dimension.VALUE,)
        dimensions = variable.kind.dimensions
        if variable.function == GLOBAL or not self.same_rate:
            # A global is not read in every sample: how long it stays is not seen.
            return tuple(one for one in dimensions if one is Dimension.VALUE)
        return dimensions

    def _growth(self, variable: Variable, good: Readings, bad: Readings) -> Growth:
        if not variable.kind.numeric:
            return Growth(Tracking.NO)
        here = self._tracks(variable.kind, good, self.good)
        there = self._tracks(variable.kind, bad, self.bad)
        return judge_growth(here, there, self.settings)

    def _tracks(self, kind: Kind, readings: Readings, side: SideReadings) -> list[Track]:
        tracks = []
        for run, start, stop in zip(
            side.runs, readings.starts[:-1].tolist(), readings.starts[1:].tolist(), strict=True
        ):
            few = evenly(start, stop)
            values = numbers(kind, ordered(kind, np.ascontiguousarray(readings.raw[few])))
            tracks.append(Track(values, side.timeline.time[readings.sample[few]], self.units[run]))
        return tracks


def _runs_with(readings: Readings) -> int:
    return int(np.count_nonzero(np.diff(readings.starts)))


def _builds(run: Run) -> frozenset[str]:
    """What identifies the programs that ran."""
    table = run.recording.table("modules")
    columns = zip(texts(table, "name"), texts(table, "build_id"), texts(table, "origin"), strict=True)
    return frozenset(f"{name} {build}" for name, build, origin in columns if origin == "program")
