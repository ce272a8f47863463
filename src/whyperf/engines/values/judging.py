"""Every variable judged, in the order in which the recordings store them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Ints, Run, texts
from whyperf.engines.values.bins import bin_edges
from whyperf.engines.values.counters import Growth, Track, Tracking, evenly, judge_growth
from whyperf.engines.values.inheritance import Kept, keep
from whyperf.engines.values.kinds import Dimension, Kind, numbers, ordered
from whyperf.engines.values.readings import Readings, RunReadings, sequence
from whyperf.engines.values.readings import Sequence as Compared
from whyperf.engines.values.settings import ValuesSettings
from whyperf.engines.values.sound import Status, Tested, examine_dimension
from whyperf.engines.values.spread import Contrast, contrast
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
    kept: Kept


class Judging:
    """Walks through all variables, in the order in which they are stored."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run], per_unit: bool, settings: ValuesSettings) -> None:
        self.settings = settings
        self.functions = FunctionIndex(good, bad)
        self.variables = VariableIndex(self.functions)
        self.good = [RunReadings(run, self.functions, self.variables) for run in good]
        self.bad = [RunReadings(run, self.functions, self.variables) for run in bad]
        self.units = {run: run.work.count if per_unit else 1.0 for run in (*good, *bad)}
        self.same_text = len({_builds(run) for run in (*good, *bad)}) == 1
        rates = [run.manifest.sampling.rate_hz for run in (*good, *bad)]
        self.same_rate = max(rates) <= _SAME_RATE * min(rates)
        self.merge = self._merge()

    def _merge(self) -> Compare | None:
        readings = sum(side.total for side in (*self.good, *self.bad))
        if readings < self.settings.compiled_from:
            return None
        from whyperf.engines.values.kernels import merge_sorted

        compiled: Compare = merge_sorted
        return compiled

    def all(self) -> tuple[list[Outcome], list[Candidate]]:
        numbered = [n for n in range(len(self.variables.variables)) if any(side.count(n) for side in self.bad)]
        numbered.sort(key=lambda n: max(side.first_row(n) for side in self.bad))
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
        few, none = Growth(Tracking.NO), self.settings.minimum_readings
        counts = [sum(side.count(number) for side in sides) for sides in (self.good, self.bad)]
        if counts[0] == 0 or min(counts) < none:
            status = Status.NEW if counts[0] == 0 and counts[1] >= none else Status.FEW
            return Outcome(variable, (Tested(Dimension.VALUE, status),), few), None
        good, bad = ([side.of(number, variable.kind) for side in sides] for sides in (self.good, self.bad))
        growth = self._growth(variable, good, bad)
        if growth.tracking in (Tracking.CLOCK, Tracking.SAME):
            return Outcome(variable, (Tested(Dimension.VALUE, Status.SAME),), growth), None
        return self._compared(variable, good, bad, growth, at)

    def _compared(
        self, variable: Variable, good: list[Readings], bad: list[Readings], growth: Growth, at: int
    ) -> tuple[Outcome, Candidate | None]:
        tests: list[Tested] = []
        contrasts: dict[Dimension, Contrast] = {}
        for dimension in self._dimensions(variable, growth):
            here, there = (
                [
                    sequence(readings, variable.kind, dimension, side.timeline)
                    for readings, side in zip(several, sides, strict=True)
                ]
                for several, sides in ((good, self.good), (bad, self.bad))
            )
            test = (
                Tested(
                    dimension,
                    Status.APART,
                    growth.distance,
                    growth.within,
                    0.0,
                    _edges(here, there, self.settings.bins),
                )
                if growth.tracking is Tracking.CHANGED
                else examine_dimension(
                    dimension, here, there, self.settings, same_text=self.same_text, merge=self.merge
                )
            )
            tests.append(test)
            if test.edges is not None and test.p <= self.settings.discovery_rate:
                runs = [side.run for side in self.bad]
                contrasts[dimension] = contrast(
                    here, there, runs, test.edges, self.settings, kind=variable.kind, dimension=dimension
                )
        outcome = Outcome(variable, tuple(tests), growth)
        if not contrasts:
            return outcome, None
        kept = keep(bad[0], len(self.bad[0].timeline.time), self.settings)
        return outcome, Candidate(at, contrasts, kept)

    def _dimensions(self, variable: Variable, growth: Growth) -> tuple[Dimension, ...]:
        if growth.tracking is Tracking.CHANGED:
            return (Dimension.VALUE,)
        dimensions = variable.kind.dimensions
        if variable.function == GLOBAL or not self.same_rate:
            # A global is not read in every sample: how long it stays is not seen.
            return tuple(one for one in dimensions if one is Dimension.VALUE)
        return dimensions

    def _growth(self, variable: Variable, good: list[Readings], bad: list[Readings]) -> Growth:
        if not variable.kind.numeric:
            return Growth(Tracking.NO)
        here, there = (
            [self._track(variable.kind, readings, side) for readings, side in zip(several, sides, strict=True)]
            for several, sides in ((good, self.good), (bad, self.bad))
        )
        return judge_growth(here, there, self.settings)

    def _track(self, kind: Kind, readings: Readings, side: RunReadings) -> Track:
        few = evenly(len(readings))
        return Track(
            numbers(kind, ordered(kind, np.ascontiguousarray(readings.raw[few]))),
            side.timeline.time[readings.sample[few]].astype(np.float64),
            self.units[side.run],
        )


def _edges(good: list[Compared], bad: list[Compared], bins: int) -> Ints:
    here, there = (np.sort(np.concatenate([one.codes for one in side])) for side in (good, bad))
    return bin_edges(here, there, bins)


def _builds(run: Run) -> frozenset[str]:
    """What identifies the programs that ran."""
    table = run.recording.table("modules")
    columns = zip(texts(table, "name"), texts(table, "build_id"), texts(table, "origin"), strict=True)
    return frozenset(f"{name} {build}" for name, build, origin in columns if origin == "program")
