"""More memory: whether its peak grew beyond doubt, and whose doing that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from whyperf.diagnose import wording
from whyperf.diagnose.decision import Decision
from whyperf.diagnose.engine_claims.call_counts import calls_per_unit
from whyperf.diagnose.joining.claims import Claim, claims_of
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.losses import cut_share
from whyperf.diagnose.measured.measures import Measures
from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import ALLOCATED_BYTES, PEAK_BYTES, Symptom, VerdictKind
from whyperf.engines.finding import Finding
from whyperf.engines.holdings import Holdings, holdings_of
from whyperf.engines.memory.compare import MemoryExcess, compare
from whyperf.engines.memory.contexts import allocated
from whyperf.engines.memory.findings import findings
from whyperf.engines.memory.settings import MemorySettings
from whyperf.engines.quantities import in_bytes
from whyperf.engines.run import ONE_RUN, Run
from whyperf.engines.sampled_bytes import SampledBytes, SampledPair, at_peak, in_use, of_rows
from whyperf.recording.schemas.memory_tables import MemoryKind

_EXPLAINED = 0.5  # the larger part

if TYPE_CHECKING:
    from whyperf.diagnose.case import Case
    from whyperf.diagnose.recording_kinds import Sides
    from whyperf.engines.recording_protocol import Recorded


def decide_memory(
    case: Case, otherwise: Decision, *, same_work: bool | None, counted: Sides[Recorded] | None = None
) -> Decision:
    """What the recordings of memory say, if anything; else what was decided without. `counted`: counting runs."""
    figures = _Figures(case.good, case.bad, case.measures)
    grown = figures.grown(case.settings)
    if grown is None and figures.churns(case.settings):
        return _decide_churn(case, otherwise, figures, same_work=same_work)
    if grown is None:
        more = figures.more_work(case.settings)
        if more is not None and otherwise.kind is VerdictKind.NONE:
            sentence = wording.more_memory_for_more_work(figures.at_peak, case.measures)
            return _decision(case, VerdictKind.MORE_WORK, sentence, more)
        return replace(otherwise, notes=(*otherwise.notes, wording.same_memory(figures.at_peak)))
    calls = None if counted is None else calls_per_unit(case.good, case.bad, counted.good, counted.bad)
    excess = compare(case.good, case.bad, kind=figures.kind, same_work=same_work, counted=calls)
    found = findings(excess)
    notes = [*_explained(excess, figures, bool(found)), *_beside(otherwise)]
    is_allocated = grown is figures.live
    sentence = wording.more_memory_held(grown, figures.at_peak, figures.never_freed, is_allocated=is_allocated)
    decision = _decision(case, VerdictKind.DIFFERENCE, sentence, grown, notes)
    return replace(decision, claims=_claims(case, found))


def _decide_churn(case: Case, otherwise: Decision, figures: _Figures, *, same_work: bool | None) -> Decision:
    """No more memory is in use, but much more is allocated and freed again. Where time grew as well, that stays the
    symptom: allocating is one of its reasons."""
    found = findings(compare(case.good, case.bad, amount=allocated, same_work=same_work))
    sentence = wording.memory_churns(figures.allocated, figures.ever_allocated, figures.used)
    if otherwise.kind in (VerdictKind.DIFFERENCE, VerdictKind.MORE_WORK):
        who = [f"{one.function.name}: {one.why}" for one in found[:1]]
        return replace(otherwise, notes=(*otherwise.notes, " ".join((sentence, *who))))
    decision = _decision(case, VerdictKind.DIFFERENCE, sentence, figures.allocated, _beside(otherwise))
    return replace(decision, claims=_claims(case, found))


def _claims(case: Case, found: Sequence[Finding]) -> tuple[Claim, ...]:
    doubtful = max(cut_share(run) for run in case.runs) >= case.settings.cut_stacks_doubt
    fewest = min(len(case.good), len(case.bad))
    suspects = to_suspects(found, fewest_runs=fewest, doubtful=doubtful, settings=case.settings)
    return tuple(claims_of(found, suspects))


class _Figures:
    """What every run holds, in bytes."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run], measures: Measures) -> None:
        self._held: tuple[list[Holdings], list[Holdings]] = (
            [holdings_of(run.recording) for run in good],
            [holdings_of(run.recording) for run in bad],
        )
        self._measures, self._runs = measures, (good, bad)
        self.resident = measures.memory
        self.live = peaks(*self._held)
        self.allocated = Measure(
            ALLOCATED_BYTES, *(tuple(float(one.weight[one.in_window].sum()) for one in side) for side in self._held)
        )
        self.in_use = Measure("mean_bytes", *(tuple(one.mean_bytes for one in side) for side in self._held))
        self.units = tuple(tuple(run.work.count for run in side) for side in (good, bad))

    def grown(self, settings: DiagnoseSettings) -> Measure | None:
        """What shows the growth: resident memory where it is known, else what is allocated at the peak."""
        if self._does_more_work(settings) and not self._grew_per_unit(settings):
            return None
        resident = self._resident_if_known()
        if resident is not None and judge(resident, settings.held_memory).change is Direction.GREW:
            return resident
        return self.live if peak_grew(*self._held, settings) else None

    @cached_property
    def kind(self) -> MemoryKind:
        """Allocations, unless touched pages explain more of what resident memory grew by."""
        resident = self._resident_if_known()
        if resident is None or self.live.excess >= _EXPLAINED * resident.excess:
            return MemoryKind.ALLOCATION
        return MemoryKind.PAGE if self.touched.excess > self.live.excess else MemoryKind.ALLOCATION

    @cached_property
    def touched(self) -> Measure:
        rows = [tuple(holdings_of(run.recording, MemoryKind.PAGE).peak_bytes for run in side) for side in self._runs]
        return Measure("touched_bytes", *rows)

    @cached_property
    def at_peak(self) -> SampledPair:
        return self._sampled(at_peak)

    @cached_property
    def never_freed(self) -> SampledPair:
        return self._sampled(lambda side: of_rows(side, [one.kept for one in side]))

    @cached_property
    def ever_allocated(self) -> SampledPair:
        return self._sampled(lambda side: of_rows(side, [one.in_window for one in side]))

    @cached_property
    def used(self) -> SampledPair:
        """On average over time."""
        return self._sampled(in_use)

    def churns(self, settings: DiagnoseSettings) -> bool:
        """Whether at least twice as much is allocated for each byte in use."""
        grew = judge(self.allocated, settings.held_memory).change is Direction.GREW
        good, bad = self.allocated.good_mean, self.allocated.bad_mean
        in_use = max(self.in_use.bad_mean, 1.0) / max(self.in_use.good_mean, 1.0)
        return grew and not self._does_more_work(settings) and bad >= settings.churn * max(in_use, 1.0) * good

    def more_work(self, settings: DiagnoseSettings) -> Measure | None:
        """Memory that grew, though not for each unit of work."""
        grew = self._does_more_work(settings) and peak_grew(*self._held, settings)
        return self.live if grew else None

    def _sampled(self, amount: Callable[[Sequence[Holdings]], SampledBytes]) -> SampledPair:
        good, bad = self._held
        return SampledPair(amount(good), amount(bad))

    def _resident_if_known(self) -> Measure | None:
        return self.resident if min(*self.resident.good, *self.resident.bad) > 0 else None

    def _does_more_work(self, settings: DiagnoseSettings) -> bool:
        units = self._measures.units
        return self._measures.per_unit and units.bad_mean >= settings.more_work * units.good_mean

    def _grew_per_unit(self, settings: DiagnoseSettings) -> bool:
        """Of what was added within the window: what was there before belongs to no unit."""
        rows = [
            tuple((one.peak_bytes - one.before_bytes) / count for one, count in zip(side, counts, strict=True))
            for side, counts in zip(self._held, self.units, strict=True)
        ]
        return judge(Measure(PEAK_BYTES, *rows), settings.held_memory).change is Direction.GREW


def peaks(good: Sequence[Holdings], bad: Sequence[Holdings]) -> Measure:
    return Measure(PEAK_BYTES, *(tuple(one.peak_bytes for one in side) for side in (good, bad)))


def peak_grew(good: Sequence[Holdings], bad: Sequence[Holdings], settings: DiagnoseSettings) -> bool:
    """Whether what is allocated at the peak grew by more than sampling explains. Runs that allocate and free more often
    have a higher peak by chance alone; and a few runs may by chance differ less than their samples let expect."""
    least = Measure(PEAK_BYTES, *(tuple(one.least_peak_bytes for one in side) for side in (good, bad)))
    error = sqrt(sum(sum(one.peak_variance for one in side) / len(side) ** 2 for side in (good, bad)))
    is_certain = peaks(good, bad).excess >= MemorySettings().least_sigma * error
    return is_certain and judge(least, settings.held_memory).change is Direction.GREW


def _explained(excess: MemoryExcess, figures: _Figures, found: bool) -> list[str]:
    """What the allocations do not show."""
    resident = figures.resident.excess
    notes = []
    if resident > 0 and figures.live.excess < _EXPLAINED * resident:
        shown = " Page faults show who touched it." if figures.kind is MemoryKind.PAGE else ""
        notes.append(
            f"Allocations explain {in_bytes(max(0.0, figures.live.excess))} of {in_bytes(resident)} more resident "
            "memory: the rest is mapped files, stacks, an allocator of the program's own, or freed memory that the "
            f"allocator has not given back.{shown}"
        )
    if not found and excess.total > 0:
        notes.append("The memory is spread so thinly that no function stands out of the noise.")
    return notes


def _beside(otherwise: Decision) -> list[str]:
    """What else grew must not be hidden."""
    return [otherwise.symptom.sentence] if otherwise.kind is VerdictKind.DIFFERENCE else []


def _decision(case: Case, kind: VerdictKind, sentence: str, measure: Measure, notes: Sequence[str] = ()) -> Decision:
    symptom = Symptom(
        kind=Nature.MEMORY.value,
        unit=ONE_RUN,
        good=measure.good_mean,
        bad=measure.bad_mean,
        measure=ALLOCATED_BYTES if measure.name == ALLOCATED_BYTES else PEAK_BYTES,
        runs=(len(case.good), len(case.bad)),
        good_runs=measure.good,
        bad_runs=measure.bad,
        sentence=sentence,
    )
    return Decision(kind, symptom, notes=tuple(notes))
