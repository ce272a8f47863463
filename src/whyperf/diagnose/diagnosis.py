"""From recordings to a verdict: is there a difference, of what kind, and who is suspected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from whyperf.diagnose import wording
from whyperf.diagnose.advice import compare_again, diagnose_swapped, lifecycle_reminder
from whyperf.diagnose.causes import joined, view_causes
from whyperf.diagnose.confidence import LOW
from whyperf.diagnose.contexts import ContextsView, view_contexts
from whyperf.diagnose.data import Data, Method, data_notes, gather, join
from whyperf.diagnose.losses import cut_share, loss_notes
from whyperf.diagnose.measures import Measures, take_measures
from whyperf.diagnose.sameness import refuse_different_programs
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.significance import Change, Judgement, Measure, judge, runs_needed
from whyperf.diagnose.suspects import to_suspects
from whyperf.diagnose.verdict import Suspect, Symptom, Verdict, VerdictKind
from whyperf.diagnose.waiting import wait_kind
from whyperf.engines.causes.diagnosis import Where
from whyperf.engines.contexts.settings import Sources, sources_named
from whyperf.engines.excess.compare import DataEvidence, Excess, compare, weigh
from whyperf.engines.excess.evenness import uneven_growth
from whyperf.engines.excess.findings import suspects as find_suspects
from whyperf.engines.finding import Finding
from whyperf.engines.recorded import Recorded
from whyperf.engines.run import Run
from whyperf.engines.values.compare import Values
from whyperf.engines.values.compare import compare as values_compare
from whyperf.engines.values.paper.findings import findings as paper_findings
from whyperf.engines.values.paper.ranking import rank as paper_rank
from whyperf.errors import WhyperfError
from whyperf.recording.tables import Clock


@dataclass(frozen=True)
class Diagnosis:
    verdict: Verdict
    excess: Excess | None  # what the suspects were chosen from
    values: Values | None = None


def diagnose(good: Sequence[Recorded], bad: Sequence[Recorded], settings: DiagnoseSettings | None = None) -> Verdict:
    return examine(good, bad, settings).verdict


def examine(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    settings: DiagnoseSettings | None = None,
    *,
    keep_accounts: bool = False,
    method: Method = Method.SOUND,
    where: Where | None = None,
    stack_events: Collection[str] | None = None,
) -> Diagnosis:
    """The verdict with what it was chosen from; `keep_accounts` asks for that even where there is nothing to choose.

    `where` is what the user says of a stall. `stack_events`: kernel events whose stacks tell latencies, of syscalls,
    switches and samples.
    """
    if not good or not bad:
        raise WhyperfError("At least one good and one bad recording are needed.", "whyperf diagnose GOOD BAD", status=2)
    runs = [Run(one) for one in good], [Run(one) for one in bad]
    case = _Case(*runs, settings or DiagnoseSettings(), method, sources_named(stack_events))
    refuse_different_programs(case.good, case.bad)
    diagnosis = case.decide()
    verdict = diagnosis.verdict
    notes = (
        *verdict.notes,
        *case.measures.notes,
        *loss_notes(case.good, case.bad, _concerned(diagnosis, case.settings), case.settings),
    )
    if verdict.next_command:
        notes = (*notes, *lifecycle_reminder(case.runs))
    excess = diagnosis.excess
    if excess is None and keep_accounts:
        excess = compare(case.good, case.bad, per_unit=case.measures.per_unit)
    verdict = replace(verdict, notes=tuple(dict.fromkeys(notes)))
    causes = view_causes(good, bad, method, where)
    if causes is not None:
        verdict = joined(verdict, causes, case.settings)
    return Diagnosis(verdict, excess, diagnosis.values)


def _concerned(diagnosis: Diagnosis, settings: DiagnoseSettings) -> set[str]:
    """Modules in which a suspect lies, or a good part of the excess."""
    shares: defaultdict[str, float] = defaultdict(float)
    if diagnosis.excess is not None:
        functions = diagnosis.excess.index.functions
        for account in diagnosis.excess.accounts:
            shares[functions[account.function].key.module] += account.share
    large = {module for module, share in shares.items() if share > settings.module_part}
    return large | {suspect.module for suspect in diagnosis.verdict.suspects}


class _Case:
    """One comparison on its way to a verdict."""

    def __init__(
        self,
        good: Sequence[Run],
        bad: Sequence[Run],
        settings: DiagnoseSettings,
        method: Method = Method.SOUND,
        sources: Sources = Sources.ALL,
    ) -> None:
        self.good, self.bad, self.settings, self.method, self.sources = good, bad, settings, method, sources
        self.runs = (*good, *bad)
        self.measures: Measures = take_measures(good, bad, settings)
        self.cpu: Judgement = judge(self.measures.cpu, settings.cpu)
        self.wall: Judgement = judge(self.measures.wall, settings.wall)

    @cached_property
    def contexts(self) -> ContextsView | None:
        """What kernel events say, where all runs have them."""
        return view_contexts(self.good, self.bad, self.method, self.sources)

    def decide(self) -> Diagnosis:
        measures = self.measures
        # On a busy machine more CPU time also means more waiting for a CPU: that is no wait of the program's.
        running = measures.cpu.excess + max(measures.cpu_wait.excess, 0.0)
        waited = self.wall.change is Change.GREW and running < self.settings.cpu_part_of_wall * measures.wall.excess
        if waited:
            return self._waited()
        if self.cpu.change is Change.GREW:
            return self._used_more_cpu()
        if self._did_more_work():
            return self._verdict(VerdictKind.MORE_WORK, wording.more_work(measures))
        if self.contexts is not None and self.contexts.has_own_unit:
            return self._in_contexts(self.contexts, "wait", *self.contexts.symptom())
        return self._not_slower(running)

    def _not_slower(self, running: float) -> Diagnosis:
        """Neither CPU nor wall time grew beyond doubt; `running` of the added wall time was spent on or for a CPU."""
        measures = self.measures
        wall_unclear = (
            self.wall.change is Change.UNCLEAR and measures.wall.relative >= self.settings.wall.single_relative
        )
        waits = wall_unclear and running < self.settings.cpu_part_of_wall * measures.wall.excess
        if self.cpu.change is Change.UNCLEAR and not (waits and measures.wall.relative > measures.cpu.relative):
            return self._unclear(measures.cpu, self.cpu)
        if wall_unclear:
            return self._unclear(measures.wall, self.wall)
        return self._no_difference()

    def _used_more_cpu(self) -> Diagnosis:
        excess = compare(self.good, self.bad, per_unit=self.measures.per_unit)
        sentence = wording.grew(self.measures.cpu, self.measures.unit)
        if excess.total_s < self.settings.sampled_part * self.measures.cpu.excess:
            if self._samples_in_excess(self.measures.cpu.excess, Clock.CPU) < self.settings.minimum_excess_samples:
                return self._too_few_samples(sentence, self.measures.cpu.excess)
            note = "Most of the added CPU time is in programs or threads that were not followed: no function to name."
            return self._verdict(VerdictKind.DIFFERENCE, sentence, kind="external", notes=[note], excess=excess)
        if self._samples_in_excess(excess.total_s, Clock.CPU) < self.settings.minimum_excess_samples:
            return self._too_few_samples(sentence, excess.total_s)
        return self._with_data(excess, sentence)

    def _with_data(self, excess: Excess, sentence: str) -> Diagnosis:
        """Whose data went wrong decides where stacks alone cannot: cheap code that makes other code run."""
        per_unit, measure = self.measures.per_unit, self.measures.cpu
        if self.method is Method.PAPER and (ranking := paper_rank(self.good, self.bad)) is not None:
            return self._with_suspects(excess, "cpu", sentence, measure, findings=paper_findings(ranking))
        values = values_compare(self.good, self.bad, per_unit=per_unit) if self.method is Method.SOUND else None
        if values is None:
            return self._with_suspects(excess, "cpu", sentence, measure)
        data = gather(values)
        evidence = DataEvidence(values.anomaly, values.own_anomaly, values.normal, values.steady)
        return self._with_suspects(weigh(excess, evidence), "cpu", sentence, measure, data_notes(data), data=data)

    def _waited(self) -> Diagnosis:
        measures = self.measures
        sentence = wording.waited(measures)
        kind = wait_kind(self.good, self.bad, measures, self.settings)
        if self.contexts is not None and self.contexts.slower:
            return self._in_contexts(self.contexts, kind, sentence, measures.wall)
        if not self._recorded_waits():
            return self._verdict(
                VerdictKind.DIFFERENCE,
                sentence,
                measure=measures.wall,
                kind=kind,
                notes=["The time went into waiting, which these recordings do not show: record with --clock wall."],
                next_command=compare_again(self.good, self.bad, "--clock", "wall"),
            )
        excess, notes = self._blocked_excess()
        if excess.total_s < self.settings.sampled_part * measures.wall.excess:
            note = "The threads were neither running nor blocked meanwhile: they waited for a CPU, or outside of them."
            return self._verdict(
                VerdictKind.DIFFERENCE, sentence, measure=measures.wall, kind="external", notes=[note], excess=excess
            )
        return self._with_suspects(excess, kind, sentence, measures.wall, notes)

    def _in_contexts(self, view: ContextsView, kind: str, sentence: str, measure: Measure) -> Diagnosis:
        single, next_command = self._single_runs()
        return self._verdict(
            VerdictKind.DIFFERENCE,
            sentence,
            measure=measure,
            kind=kind,
            suspects=view.suspects(self.settings),
            notes=[*view.unit_notes(), *single],
            next_command=next_command,
            unit=view.unit,
        )

    def _single_runs(self) -> tuple[list[str], str | None]:
        """What a single run of a kind cannot show, and the command that would."""
        if min(len(self.good), len(self.bad)) >= 2:
            return [], None
        note = "Spread unknown: a single run of a kind cannot show how much runs differ by themselves."
        return [note], compare_again(self.good, self.bad, "--runs", str(self.settings.usual_runs))

    def _recorded_waits(self) -> bool:
        return all(run.manifest.sampling.clock == "wall" for run in self.runs)

    def _blocked_excess(self) -> tuple[Excess, list[str]]:
        """Waits for the outside world if they explain the added time: who waits for such a waiter only waits along."""
        per_unit = self.measures.per_unit
        good, bad = ([Run(run.recording, outside_waits_only=True) for run in side] for side in (self.good, self.bad))
        outside = compare(good, bad, per_unit=per_unit, clock=Clock.BLOCKED)
        if outside.total_s >= self.settings.cpu_part_of_wall * self.measures.wall.excess:
            note = "Waits of threads for each other and for child processes are left out: they wait along."
            return outside, [note]
        return compare(self.good, self.bad, per_unit=per_unit, clock=Clock.BLOCKED), []

    def _with_suspects(
        self,
        excess: Excess,
        kind: str,
        sentence: str,
        measure: Measure,
        more_notes: Sequence[str] = (),
        *,
        findings: Sequence[Finding] | None = None,
        data: Data | None = None,
    ) -> Diagnosis:
        findings = find_suspects(excess, self.measures.unit) if findings is None else findings
        notes = list(more_notes)
        uneven = uneven_growth(excess)
        even = uneven is not None and uneven <= self.settings.even_growth
        cut = max(cut_share(run) for run in self.runs)
        doubtful = even or cut >= self.settings.cut_stacks_doubt
        fewest = min(len(self.good), len(self.bad))
        found = to_suspects(findings, fewest_runs=fewest, doubtful=doubtful, settings=self.settings)
        functions = [finding.function for finding in findings]
        if data is not None:
            found = join(found, functions, data)
        if self.contexts is not None:
            found = self.contexts.joined(found, functions, self.settings)
            notes += self.contexts.notes(functions)
        if even:
            found = tuple(replace(suspect, confidence=LOW) for suspect in found)
            notes.append(
                "All functions grew alike: more of the same work, or a slower machine. Count units of work (work=N "
                "from the driver, or --work-count FUNCTION) to tell."
            )
        if not found:
            notes.append("The excess is spread so thinly that no function stands out of the noise.")
        single, next_command = self._single_runs()
        notes += single
        return self._verdict(
            VerdictKind.DIFFERENCE,
            sentence,
            measure=measure,
            kind=kind,
            suspects=found,
            notes=notes,
            next_command=next_command,
            excess=excess,
            values=data.values if data else None,
        )

    def _did_more_work(self) -> bool:
        measures = self.measures
        return (
            measures.per_unit
            and judge(measures.total_cpu, self.settings.cpu).change is Change.GREW
            and measures.units.bad_mean >= self.settings.more_work * measures.units.good_mean
        )

    def _unclear(self, measure: Measure, judgement: Judgement) -> Diagnosis:
        settings = self.settings
        floors = settings.cpu if measure is self.measures.cpu else settings.wall
        runs = runs_needed(measure, floors, settings.usual_runs, settings.most_runs_to_ask_for)
        sentence = wording.unclear(measure, self.measures.unit, judgement, runs)
        options = ["--runs", str(runs)] if runs else []
        if measure is self.measures.wall and not self._recorded_waits():
            options = ["--clock", "wall", *options]
        command = compare_again(self.good, self.bad, *options) if options else "whyperf doctor"
        return self._verdict(VerdictKind.INSUFFICIENT, sentence, measure=measure, next_command=command)

    def _too_few_samples(self, sentence: str, excess_s: float) -> Diagnosis:
        have = self._samples_in_excess(excess_s, Clock.CPU)
        factor = self.settings.minimum_excess_samples / max(have, 0.5)
        rate = max(run.manifest.sampling.rate_hz for run in self.runs) * factor
        said = wording.too_few_samples(sentence, have, self.settings.minimum_excess_samples, factor)
        command = compare_again(self.good, self.bad, "--rate", f"{min(5000.0, rate):.0f}")
        return self._verdict(VerdictKind.INSUFFICIENT, said, next_command=command)

    def _samples_in_excess(self, excess_s: float, clock: Clock) -> float:
        """How many of the bad runs' samples the excess would be."""
        samples = sum(run.time(clock).total_samples for run in self.bad)
        sampled_s = sum(run.time(clock).total_s for run in self.bad)
        units = sum(run.work.count if self.measures.per_unit else 1.0 for run in self.bad)
        return samples * excess_s * units / sampled_s if sampled_s > 0 else 0.0

    def _no_difference(self) -> Diagnosis:
        measures = self.measures
        notes: list[str] = []
        command = None
        if self.cpu.change is Change.SHRANK:
            command = diagnose_swapped(self.good, self.bad)
        elif self.wall.change is Change.UNCLEAR:
            notes.append(wording.wall_unclear(measures.wall))
        if measures.cpu.single:
            notes.append("Spread unknown: a single run of a kind cannot show how much runs differ by themselves.")
        notes += wording.memory_note(self.good, self.bad, self.settings)
        faster = self.cpu.change is Change.SHRANK
        sentence = wording.shrank(measures.cpu, measures.unit) if faster else wording.no_difference(measures, self.cpu)
        return self._verdict(VerdictKind.NONE, sentence, notes=notes, next_command=command)

    def _verdict(
        self,
        verdict: VerdictKind,
        sentence: str,
        *,
        measure: Measure | None = None,
        kind: str = "cpu",
        suspects: tuple[Suspect, ...] = (),
        notes: Sequence[str] = (),
        next_command: str | None = None,
        excess: Excess | None = None,
        values: Values | None = None,
        unit: str | None = None,
    ) -> Diagnosis:
        shown = measure or self.measures.cpu
        symptom = Symptom(
            kind=kind,
            unit=unit or self.measures.unit,
            good=shown.good_mean,
            bad=shown.bad_mean,
            measure=shown.name,
            runs=(len(self.good), len(self.bad)),
            good_runs=shown.good,
            bad_runs=shown.bad,
            sentence=sentence,
        )
        contexts = self.contexts.ranking if verdict is VerdictKind.DIFFERENCE and self.contexts is not None else None
        judged = Verdict(verdict, symptom, suspects, tuple(notes), next_command, contexts=contexts)
        return Diagnosis(judged, excess, values)
