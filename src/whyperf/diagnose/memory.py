"""More memory: whether its peak grew beyond doubt, and whose doing that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from whyperf.diagnose import wording
from whyperf.diagnose.claims import claims_of
from whyperf.diagnose.decision import Decision
from whyperf.diagnose.losses import cut_share
from whyperf.diagnose.measures import Measures
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.significance import Change, Measure, judge
from whyperf.diagnose.suspects import to_suspects
from whyperf.diagnose.symptom_kind import Nature
from whyperf.diagnose.verdict import PEAK_BYTES, Symptom, VerdictKind
from whyperf.engines.memory.compare import MemoryExcess, compare
from whyperf.engines.memory.findings import findings
from whyperf.engines.memory.holdings import Holdings, holdings_of, holds_memory
from whyperf.engines.memory.sentences import in_bytes
from whyperf.engines.run import ONE_RUN, Run
from whyperf.recording.memory_tables import MemoryKind

_EXPLAINED = 0.5  # the larger part

if TYPE_CHECKING:
    from whyperf.diagnose.case import Case


def decide_memory(case: Case, otherwise: Decision, *, same_work: bool | None) -> Decision:
    """What the recordings of memory say, where they are any and say something; else what was decided without."""
    if not all(holds_memory(run.recording) for run in case.runs):
        return otherwise
    figures = _Figures(case.good, case.bad, case.measures)
    grown = figures.grown(case.settings)
    if grown is None:
        more = figures.more_work(case.settings)
        if more is not None and otherwise.kind is VerdictKind.NONE:
            return _decision(case, VerdictKind.MORE_WORK, wording.more_memory_for_more_work(more, case.measures), more)
        return replace(otherwise, notes=(*otherwise.notes, wording.same_memory(figures.live)))
    excess = compare(case.good, case.bad, kind=figures.kind, same_work=same_work)
    found = findings(excess)
    doubtful = max(cut_share(run) for run in case.runs) >= case.settings.cut_stacks_doubt
    fewest = min(len(case.good), len(case.bad))
    suspects = to_suspects(found, fewest_runs=fewest, doubtful=doubtful, settings=case.settings)
    notes = [*_explained(excess, figures, bool(found)), *_beside(otherwise)]
    sentence = wording.more_memory_held(grown, figures.live, figures.kept)
    decision = _decision(case, VerdictKind.DIFFERENCE, sentence, grown, notes)
    return replace(decision, claims=tuple(claims_of(found, suspects)))


def resident_grew(peak: Measure, settings: DiagnoseSettings) -> bool:
    """Whether a recording of memory would have something to explain."""
    known = min(*peak.good, *peak.bad) > 0
    return known and not peak.single and judge(peak, settings.held_memory).change is Change.GREW


class _Figures:
    """What every run holds, in bytes."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run], measures: Measures) -> None:
        self._held: tuple[list[Holdings], list[Holdings]] = (
            [holdings_of(run.recording) for run in good],
            [holdings_of(run.recording) for run in bad],
        )
        self._measures, self._runs = measures, (good, bad)
        self.resident = measures.memory
        self.live = Measure(PEAK_BYTES, *(tuple(one.peak_bytes for one in side) for side in self._held))
        self.kept = Measure("kept_bytes", *(tuple(one.kept_bytes for one in side) for side in self._held))
        self.units = tuple(tuple(run.work.count for run in side) for side in (good, bad))

    def grown(self, settings: DiagnoseSettings) -> Measure | None:
        """What shows the growth: resident memory where it is known, else what is allocated at the peak."""
        chosen = [one for one in (self._resident_if_known(), self.live) if one is not None]
        grew = [one for one in chosen if judge(one, settings.held_memory).change is Change.GREW]
        if not grew or (self._does_more_work(settings) and not self._grew_per_unit(settings)):
            return None
        return grew[0]

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

    def more_work(self, settings: DiagnoseSettings) -> Measure | None:
        """Memory that grew, though not for each unit of work."""
        grew = judge(self.live, settings.held_memory).change is Change.GREW
        return self.live if grew and self._does_more_work(settings) else None

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
        return judge(Measure(PEAK_BYTES, *rows), settings.held_memory).change is Change.GREW


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
        measure=PEAK_BYTES,
        runs=(len(case.good), len(case.bad)),
        good_runs=measure.good,
        bad_runs=measure.bad,
        sentence=sentence,
    )
    return Decision(kind, symptom, notes=tuple(notes))
