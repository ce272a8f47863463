"""One comparison: what the totals say, which engines are asked for that, and what they claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from whyperf.diagnose import wording
from whyperf.diagnose.decision import Decision
from whyperf.diagnose.engine_claims.values import Data, Method, data_notes, gather
from whyperf.diagnose.joining.claims import Claim, claims_of
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.losses import cut_share
from whyperf.diagnose.measured.latency import PREFIX, requests_of
from whyperf.diagnose.measured.measures import Measures, steadied_cpu, take_measures, without_queue
from whyperf.diagnose.measured.significance import Direction, Measure, judge, runs_needed
from whyperf.diagnose.measured.symptom_kind import (
    Nature,
    TotalsGrowth,
    growth_of,
    if_starved_threads_delay,
    is_waited,
    knows_switches,
    nature_of,
    runs_less_side_by_side,
)
from whyperf.diagnose.measured.threads import queued_share, sum_queued
from whyperf.diagnose.measured.total_changes import total_changes
from whyperf.diagnose.next_command.advice import compare_again, diagnose_swapped
from whyperf.diagnose.recording_kinds import Sides
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Symptom, TotalChange, VerdictKind
from whyperf.engines.contexts.settings import Sources
from whyperf.engines.excess.compare import DataEvidence, Excess, compare, weigh
from whyperf.engines.excess.findings import suspects as find_suspects
from whyperf.engines.excess.uniform_growth import grew_alike
from whyperf.engines.execution import HERE, Executor
from whyperf.engines.finding import Finding
from whyperf.engines.idle_threads import kept_waiting
from whyperf.engines.kernel.blocked_waits import BlockedWaits
from whyperf.engines.recording_protocol import Recorded, has_events
from whyperf.engines.run import ONE_RUN, Floats, Run
from whyperf.engines.same_command import work_of
from whyperf.engines.values.compare import compare as values_compare
from whyperf.recording.schemas.tables import Clock

if TYPE_CHECKING:
    from whyperf.diagnose.engine_claims.contexts import ContextsView
    from whyperf.engines.call_counts.counted import CountedProgram

_RATE_STEP_HZ = 50
REQUEST, CALL = "request", "call"


class Case:
    def __init__(
        self,
        good: Sequence[Run],
        bad: Sequence[Run],
        settings: DiagnoseSettings,
        method: Method = Method.SOUND,
        sources: Sources = Sources.ALL,
        *,
        same_work: bool | None = None,
        counted: Sides[Recorded] | None = None,
        executor: Executor = HERE,
    ) -> None:
        self._executor, self._same_work, self._counted = executor, same_work, counted
        self.good, self.bad, self.settings, self.method, self.sources = good, bad, settings, method, sources
        self.runs = (*good, *bad)
        self.measures: Measures = take_measures(good, bad, settings)
        self.requests = requests_of(good, bad, settings)
        growth = growth_of(good, bad, self.measures, settings)
        self._queued = queued_share(good), queued_share(bad)
        if self._is_busy or growth.wall is not Direction.GREW or not is_waited(growth, settings):
            self.measures, growth = self._without_queue(growth)
        self._steadied = steadied_cpu(good, bad, self.measures) if growth.cpu is Direction.UNCLEAR else None
        if self._steadied is not None and judge(self._steadied, settings.cpu).change is Direction.GREW:
            growth = replace(growth, cpu=Direction.GREW)
        self.growth: TotalsGrowth = growth
        starved = if_starved_threads_delay(growth)
        self._may_be_starved = is_waited(growth, settings) and not is_waited(starved, settings)
        if self._may_be_starved and self._waits_only_for_starved:
            self.growth = starved

    @property
    def _waits_only_for_starved(self) -> bool:
        """Whether it is known that threads waited for others that got no CPU, and for nothing else: no longer by kernel
        events, which leave the run queue out, nor for the outside world or locks by samples of waiting threads."""
        if self.recorded_waits:
            return self._blocked_excess[1] is BlockedWaits.ALL
        return self.contexts is not None and not self.contexts.slower

    @cached_property
    def _reference_s(self) -> float:
        """What waits are to explain, per unit of work: what was added to the clock while nobody computed more."""
        return self.measures.wall.excess - max(self.growth.computing_s, 0.0)

    @property
    def _is_busy(self) -> bool:
        """Whether a side's threads waited for a CPU longer than they used one, without a quota as the reason."""
        return max(self._queued) > 1.0 and not any(run.manifest.totals.quota_cpus for run in self.runs)

    def busy_machine(self, measure: str) -> str:
        """What is said of a busy machine, where the symptom is of this measure."""
        by_clock = measure == "wall_s" or measure.startswith(PREFIX)
        return wording.busy_machine(*self._queued, judged_by_clock=by_clock) if self._is_busy else ""

    def _without_queue(self, growth: TotalsGrowth) -> tuple[Measures, TotalsGrowth]:
        """Judge the program's own time where the run queue hides it: what grows without the queue did grow."""
        measures = without_queue(self.good, self.bad, self.measures)
        if measures is None:
            return self.measures, growth
        own = growth_of(self.good, self.bad, measures, self.settings)
        left_out = max(self.measures.wall.excess - measures.wall.excess, 0.0)
        own = replace(
            own,
            cpu_wait_s=max(own.cpu_wait_s - left_out, 0.0),
            thread_cpu_wait_s=max(own.thread_cpu_wait_s - left_out, 0.0),
        )
        return (
            (measures, own) if own.wall is Direction.GREW and is_waited(own, self.settings) else (self.measures, growth)
        )

    @cached_property
    def total_changes(self) -> tuple[TotalChange, ...]:
        return total_changes(self.good, self.bad, self.measures, self.settings)

    @cached_property
    def contexts(self) -> ContextsView | None:
        """What kernel events say, where all runs have them."""
        if not all(has_events(run.recording) for run in self.runs):
            return None
        from whyperf.diagnose.engine_claims.contexts import (
            view_contexts,  # compiled code, for those few who have traced
        )

        return view_contexts(self.good, self.bad, self.method, self.sources, self._executor)

    @cached_property
    def counted_program(self) -> CountedProgram | None:
        """What counting runs counted, joined with the samples; None where there are none."""
        if self._counted is None:
            return None
        from whyperf.diagnose.engine_claims.call_counts import program_of  # for those few who have counted

        return program_of(self.good, self.bad, self._counted.good, self._counted.bad)

    @property
    def recorded_waits(self) -> bool:
        return all(run.manifest.sampling.clock == "wall" for run in self.runs)

    def decide(self) -> Decision:
        growth, nature = self.growth, nature_of(self.growth, self.settings)
        if (slower := self._slower_requests()) is not None:
            return self._requests_waited(slower)
        if nature is not None and growth.wall is Direction.GREW and is_waited(growth, self.settings):
            return self._waited(nature)
        if nature is Nature.CPU:
            return self._used_more_cpu_or_wall()
        if self._did_more_work():
            return self._decision(VerdictKind.MORE_WORK, wording.more_work(self.measures))
        if self.contexts is not None and self.contexts.has_own_unit:
            return self._in_contexts(self.contexts, Nature.WAIT, *self.contexts.symptom())
        return self._not_slower(nature)

    def _slower_requests(self) -> Measure | None:
        """The latency that grew, if nothing else grew more."""
        slower = None if self.requests is None else self.requests.slower(self.settings)
        cpu, wall, growth = self.measures.cpu, self.measures.wall, self.growth
        others = [one.relative for one, change in ((cpu, growth.cpu), (wall, growth.wall)) if change is Direction.GREW]
        return slower if slower is not None and slower.relative >= max(others, default=0.0) else None

    def _requests_waited(self, slower: Measure) -> Decision:
        assert self.requests is not None
        growth, function = self.growth, self.requests.function
        said, unit = wording.slower_requests(slower, self.requests.percentiles, function), CALL if function else REQUEST
        units = self.measures.units.bad_mean if self.measures.per_unit else 1.0
        added = self.requests.added_s
        if added is not None and growth.cpu is Direction.GREW and growth.cpu_s * units >= added / 2:
            return self._used_more_cpu(f"{said} {wording.grew(self.measures.cpu, self.measures.unit, self._steadied)}")
        queued = sum_queued(self.bad) - sum_queued(self.good)
        if added is not None and queued >= added / 2:
            sentence = wording.queued_requests(said, added, queued)
            return self._decision(VerdictKind.NONE, sentence, Nature.EXTERNAL, slower, unit=unit)
        if growth.wall is not Direction.GREW and added is not None:
            self._reference_s = added / units
        sentence = wording.requests_wait(said, self.measures.cpu, self.measures.unit)
        decision = self._waited(Nature.LATENCY)
        symptom = replace(self._symptom(Nature.LATENCY, slower, sentence), unit=unit)
        return replace(decision, symptom=symptom)

    def _not_slower(self, nature: Nature | None) -> Decision:
        """Neither CPU nor wall time grew beyond doubt, or not by the program's doing."""
        measures = self.measures
        if (stopped := self._stopped_by_quota()) is not None:
            return stopped
        if (unclear := self._unclear()) is not None:
            return unclear
        if nature is Nature.EXTERNAL:
            said = wording.no_cpu(measures, self.growth.cpu_wait_s)
            return self._decision(VerdictKind.NONE, said, nature, measures.wall)
        if nature is Nature.MEMORY and self.growth.cpu is not Direction.SHRANK:
            said = wording.more_memory(measures.memory)
            return self._decision(VerdictKind.DIFFERENCE, said, nature, measures.memory, unit=ONE_RUN)
        return self._no_difference()

    def _stopped_by_quota(self) -> Decision | None:
        """A quota that stops every bad run for longer than any good one is the cause, however noisy wall time is."""
        good, bad = ([run.manifest.totals for run in side] for side in (self.good, self.bad))
        stopped = sum(one.throttled_s for one in bad) / len(bad)
        wall_s = sum(one.wall_s for one in bad) / len(bad)
        apart = min(one.throttled_s for one in bad) > max(one.throttled_s for one in good)
        if not apart or stopped < self.settings.wall.relative * wall_s:
            return None
        said = wording.quota(self.measures, max(one.quota_cpus for one in bad), stopped)
        return self._decision(VerdictKind.DIFFERENCE, said, Nature.EXTERNAL, self.measures.wall)

    def _used_more_cpu_or_wall(self) -> Decision:
        """Threads that run less side by side may wait for each other: waits for locks show it, where they were seen."""
        sentence = wording.grew(self.measures.cpu, self.measures.unit, self._steadied)
        if not runs_less_side_by_side(self.growth, self.settings):
            decision = self._used_more_cpu(sentence)
            return replace(decision, notes=(*decision.notes, *self._beyond_cpu()))
        if self.recorded_waits and self._blocked_excess[1] is BlockedWaits.LOCKS:
            return self._waited(Nature.WAIT)
        decision = self._used_more_cpu(wording.grew_beyond_cpu(sentence, self.measures.wall))
        return replace(decision, unseen=wording.WAITS_UNSEEN)

    def _beyond_cpu(self) -> list[str]:
        """Say how wall time grew where that takes waiting for a CPU to explain: more CPU time must not hide it."""
        growth, wall = self.growth, self.measures.wall
        explained = growth.wall is not Direction.GREW or not is_waited(replace(growth, cpu_wait_s=0.0), self.settings)
        return [] if explained else [wording.wall_grew(wall, growth.cpu_wait_s)]

    def _used_more_cpu(self, sentence: str) -> Decision:
        cpu = self.measures.cpu
        excess = self.compared()
        unsampled = excess.total_s < self.settings.sampled_part * cpu.excess
        shown = cpu.excess if unsampled else excess.total_s
        too_few = self._samples_in_excess(shown) < self.settings.minimum_excess_samples
        if (unsampled or too_few) and (by_events := self._by_events_alone(sentence)) is not None:
            return by_events
        if too_few:
            return self._too_few_samples(sentence, shown)
        if unsampled:
            note = "Most of the added CPU time is in programs or threads that were not followed: no function to name."
            return self._decision(VerdictKind.DIFFERENCE, sentence, Nature.EXTERNAL, cpu, notes=[note], excess=excess)
        return self._with_data(excess, sentence)

    def compared(self) -> Excess:
        """Where CPU time is spent, whoever answers for it."""
        excess = compare(self.good, self.bad, per_unit=self.measures.per_unit, same_work=self._same_work)
        if self.counted_program is None:
            return excess
        from whyperf.diagnose.engine_claims.call_counts import exact_calls

        return replace(excess, exact=exact_calls(self.counted_program))

    def work_notes(self, excess: Excess | None) -> list[str]:
        """Say what was assumed of the runs' work, where two builds are compared and the commands leave it open."""
        if self._same_work is not None or excess is None or not excess.index.builds.different:
            return []
        work = work_of(self.runs)
        return [wording.assumed_work(work)] if work.differing and (excess.code.changed or not work.same) else []

    def _by_events_alone(self, sentence: str) -> Decision | None:
        """What kernel events say of CPU time that hardly a sample fell into."""
        if self.contexts is None or not self.contexts.slower:
            return None
        return self._in_contexts(self.contexts, Nature.CPU, sentence, self.measures.cpu)

    def _by_paper(self) -> list[Finding] | None:
        from whyperf.engines.values.paper.findings import findings  # for those few who compare methods
        from whyperf.engines.values.paper.ranking import rank

        ranking = rank(self.good, self.bad)
        return None if ranking is None else findings(ranking)

    def _with_data(self, excess: Excess, sentence: str) -> Decision:
        """Whose data went wrong decides where stacks alone cannot: cheap code that makes other code run."""
        per_unit, cpu = self.measures.per_unit, self.measures.cpu
        if self.method is Method.PAPER and (found := self._by_paper()) is not None:
            return self._sampled(excess, Nature.CPU, sentence, cpu, findings=found)
        values = None
        if self.method is Method.SOUND:
            values = values_compare(self.good, self.bad, per_unit=per_unit, executor=self._executor)
        if values is None:
            return self._sampled(excess, Nature.CPU, sentence, cpu)
        data = gather(values)
        evidence = DataEvidence(values.anomaly, values.own_anomaly, values.normal, values.steady)
        return self._sampled(weigh(excess, evidence), Nature.CPU, sentence, cpu, data_notes(data), data=data)

    def _waited(self, nature: Nature) -> Decision:
        wall = self.measures.wall
        sentence = wording.waited(self.measures, knows_queue=all(map(knows_switches, self.runs)))
        if self.contexts is not None and self.contexts.slower:
            decision = self._in_contexts(self.contexts, nature, sentence, wall)
            return replace(decision, claims=(*decision.claims, *self._lock_holders()))
        if not self.recorded_waits:
            notes = [wording.starved_thread(self.growth.thread_cpu_wait_s)] if self._may_be_starved else []
            return self._decision(VerdictKind.DIFFERENCE, sentence, nature, wall, notes=notes)
        excess, waits = self._blocked_excess
        if excess.total_s < self.settings.sampled_part * self._reference_s:
            note = "The threads neither ran nor were blocked: they were runnable, or waited outside the program."
            return self._decision(VerdictKind.DIFFERENCE, sentence, Nature.EXTERNAL, wall, notes=[note], excess=excess)
        decision = self._sampled(excess, nature, sentence, wall, wording.LEFT_OUT[waits])
        if holders := self._lock_holders():
            return replace(decision, claims=(*decision.claims, *holders))
        return replace(decision, unseen=wording.HOLDER_UNSEEN) if waits is BlockedWaits.LOCKS else decision

    def _lock_holders(self) -> tuple[Claim, ...]:
        """Who holds the lock that others wait for, where waiting threads were looked at."""
        if not self.recorded_waits:
            return ()
        from whyperf.diagnose.engine_claims.lock_holders import holders_claims  # for those few who wait for locks

        return holders_claims(self.good, self.bad, self.measures, self._reference_s, self.settings)

    def _in_contexts(self, view: ContextsView, nature: Nature, sentence: str, measure: Measure) -> Decision:
        claims = view.claims(self.settings)
        return self._decision(
            VerdictKind.DIFFERENCE, sentence, nature, measure, claims=claims, notes=view.unit_notes(), unit=view.unit
        )

    @cached_property
    def _blocked_excess(self) -> tuple[Excess, BlockedWaits]:
        """Waits for the outside world, else for locks, if they explain the added time: others only wait along."""
        for waits in (BlockedWaits.OUTSIDE, BlockedWaits.LOCKS):
            excess = self._blocked(waits)
            if excess.total_s >= self.settings.cpu_part_of_wall * self._reference_s:
                return excess, waits
        return self._blocked(BlockedWaits.ALL), BlockedWaits.ALL

    @cached_property
    def _kept_waiting(self) -> Mapping[Run, Floats]:
        return kept_waiting(self.good, self.bad)

    def _blocked(self, waits: BlockedWaits) -> Excess:
        parts = self._kept_waiting
        good, bad = (
            [Run(run.recording, waits=waits, parts=parts[run]) for run in side] for side in (self.good, self.bad)
        )
        per_unit = self.measures.per_unit
        return compare(good, bad, per_unit=per_unit, clock=Clock.BLOCKED, same_work=self._same_work)

    def _sampled(
        self,
        excess: Excess,
        nature: Nature,
        sentence: str,
        measure: Measure,
        more_notes: Sequence[str] = (),
        *,
        findings: Sequence[Finding] | None = None,
        data: Data | None = None,
    ) -> Decision:
        """What samples lead to, and what others know of the same functions."""
        if findings is None and grew_alike(excess):
            counted = [] if self.measures.per_unit else [wording.COUNT_UNITS]
            said, notes = wording.grew_alike(sentence), [*more_notes, *counted]
            return self._decision(VerdictKind.DIFFERENCE, said, nature, measure, notes=notes, excess=excess)
        findings = find_suspects(excess, self.measures.unit) if findings is None else findings
        notes = list(more_notes)
        fewest, cut = min(len(self.good), len(self.bad)), max(cut_share(run) for run in self.runs)
        doubtful = cut >= self.settings.cut_stacks_doubt
        found = to_suspects(findings, fewest_runs=fewest, doubtful=doubtful, settings=self.settings)
        functions = [finding.function for finding in findings]
        claims = [*claims_of(findings, found)]
        if data is not None:
            claims += data.claims(functions, self.settings)
            notes += data.notes_beside(functions)
        if self.contexts is not None:
            claims += self.contexts.claims_beside(functions, self.settings)
            notes += self.contexts.notes(functions)
        if not found:
            notes.append("The excess is spread so thinly that no function stands out of the noise.")
        decision = self._decision(
            VerdictKind.DIFFERENCE, sentence, nature, measure, claims=claims, notes=notes, excess=excess
        )
        return replace(decision, values=data.values if data else None)

    def _did_more_work(self) -> bool:
        measures = self.measures
        return (
            measures.per_unit
            and judge(measures.total_cpu, self.settings.cpu).change is Direction.GREW
            and measures.units.bad_mean >= self.settings.more_work * measures.units.good_mean
        )

    def _unclear(self) -> Decision | None:
        """Neither CPU nor wall time grew beyond doubt: whether these runs can tell at all."""
        cpu, wall, growth = self.measures.cpu, self.measures.wall, self.growth
        wall_unclear = growth.wall is Direction.UNCLEAR and wall.relative >= self.settings.wall.single_relative
        waits = wall_unclear and is_waited(growth, self.settings)
        if growth.cpu is Direction.UNCLEAR and not (waits and wall.relative > cpu.relative):
            return self._cannot_tell(cpu)
        return self._cannot_tell(wall) if wall_unclear else None

    def _cannot_tell(self, measure: Measure) -> Decision:
        settings = self.settings
        floors = settings.cpu if measure is self.measures.cpu else settings.wall
        runs = runs_needed(measure, floors, settings.usual_runs, settings.most_runs_to_ask_for)
        sentence = wording.unclear(measure, self.measures.unit, judge(measure, floors), runs)
        options = ["--runs", str(runs)] if runs else []
        if measure is self.measures.wall and not self.recorded_waits:
            options = ["--clock", "wall", *options]
        command = compare_again(self.good, self.bad, *options) if options else "whyperf doctor"
        waited = measure is self.measures.cpu and self.growth.wall is Direction.GREW
        notes = [wording.wall_grew(self.measures.wall, self.growth.cpu_wait_s)] if waited else []
        return self._decision(VerdictKind.INSUFFICIENT, sentence, measure=measure, notes=notes, next_command=command)

    def _too_few_samples(self, sentence: str, excess_s: float) -> Decision:
        """More samples by a higher rate, or where that cannot be had by more runs."""
        settings = self.settings
        have = self._samples_in_excess(excess_s)
        times = settings.sampling_margin * settings.minimum_excess_samples / max(have, 0.5)
        rate = max(run.manifest.sampling.rate_hz for run in self.runs) * times
        said = wording.too_few_samples(sentence, have, settings.minimum_excess_samples, times)
        options = ("--rate", str(ceil(rate / _RATE_STEP_HZ) * _RATE_STEP_HZ))
        if rate > settings.highest_rate_hz:
            options = ("--runs", str(ceil(len(self.bad) * times)))
        command = compare_again(self.good, self.bad, *options)
        return self._decision(VerdictKind.INSUFFICIENT, said, next_command=command)

    def _samples_in_excess(self, excess_s: float) -> float:
        """How many of the bad runs' samples the excess would be."""
        samples = sum(run.time(Clock.CPU).total_samples for run in self.bad)
        sampled_s = sum(run.time(Clock.CPU).total_s for run in self.bad)
        units = sum(run.work.count if self.measures.per_unit else 1.0 for run in self.bad)
        return samples * excess_s * units / sampled_s if sampled_s > 0 else 0.0

    def _no_difference(self) -> Decision:
        measures, growth = self.measures, self.growth
        faster = growth.cpu is Direction.SHRANK
        notes = [wording.SPREAD_UNKNOWN] if measures.cpu.single else []
        if growth.wall is Direction.UNCLEAR and not faster:
            notes.insert(0, wording.wall_unclear(measures.wall))
        judgement = judge(measures.cpu, self.settings.cpu)
        sentence = wording.shrank(measures.cpu, measures.unit) if faster else wording.no_difference(measures, judgement)
        command = diagnose_swapped(self.good, self.bad) if faster else None
        return self._decision(VerdictKind.NONE, sentence, notes=notes, next_command=command)

    def _decision(
        self,
        kind: VerdictKind,
        sentence: str,
        nature: Nature = Nature.CPU,
        measure: Measure | None = None,
        *,
        claims: Iterable[Claim] = (),
        notes: Sequence[str] = (),
        next_command: str | None = None,
        excess: Excess | None = None,
        unit: str | None = None,
    ) -> Decision:
        shown = measure or self.measures.cpu
        symptom = replace(self._symptom(nature, shown, sentence), unit=unit or self.measures.unit)
        units = self.measures.units.bad_mean if self.measures.per_unit else 1.0
        timed = any(shown is one for one in (self.measures.cpu, self.measures.wall))
        return Decision(
            kind, symptom, tuple(claims), tuple(notes), next_command, shown.excess * units if timed else None, excess
        )

    def _symptom(self, nature: Nature, shown: Measure, sentence: str) -> Symptom:
        return Symptom(
            kind=nature.value,
            unit=self.measures.unit,
            good=shown.good_mean,
            bad=shown.bad_mean,
            measure=shown.name,
            runs=(len(self.good), len(self.bad)),
            good_runs=shown.good,
            bad_runs=shown.bad,
            sentence=sentence,
        )
