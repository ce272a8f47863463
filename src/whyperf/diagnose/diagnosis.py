"""From recordings to a verdict: is there a difference, of what kind, what do engines claim, and what follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whyperf.diagnose.case import Case
from whyperf.diagnose.decider import with_decider
from whyperf.diagnose.decision import Decision
from whyperf.diagnose.engine_claims.values import Method
from whyperf.diagnose.joining.join import Joined, join
from whyperf.diagnose.joining.lifting import lifted
from whyperf.diagnose.joining.trust import LOCKS, TRUST
from whyperf.diagnose.losses import loss_notes
from whyperf.diagnose.measured.measures import resident_grew
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.measured.total_changes import sentence as also_changed
from whyperf.diagnose.next_command.advice import can_go_deep, compare_again, lifecycle_reminder
from whyperf.diagnose.next_command.next_step import KnownPossible, NextStep, Possible, RecordedSides, next_step
from whyperf.diagnose.next_command.settled import after
from whyperf.diagnose.recording_kinds import Sides, parted
from whyperf.diagnose.same_program import refuse_different_programs
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Suspect, Verdict, VerdictKind
from whyperf.engines.contexts.settings import sources_named
from whyperf.engines.excess.compare import Excess
from whyperf.engines.execution import HERE, Executor
from whyperf.engines.holdings import holds_memory
from whyperf.engines.kernel.blocked_waits import BlockedWaits
from whyperf.engines.recording_protocol import Recorded, is_traced
from whyperf.engines.run import Run, tally
from whyperf.engines.values.compare import Values
from whyperf.errors import WhyperfError

if TYPE_CHECKING:
    from whyperf.engines.causes.diagnosis import StallFilter


@dataclass(frozen=True)
class Diagnosis:
    verdict: Verdict
    excess: Excess | None  # what the suspects were chosen from
    values: Values | None = None
    step: NextStep | None = None  # the recordings that would settle what is still open


def diagnose(good: Sequence[Recorded], bad: Sequence[Recorded], settings: DiagnoseSettings | None = None) -> Verdict:
    return examine(good, bad, settings).verdict


def examine(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    settings: DiagnoseSettings | None = None,
    *,
    keep_accounts: bool = False,
    method: Method = Method.SOUND,
    stack_events: Collection[str] | None = None,
    where: StallFilter | None = None,
    possible: Possible | None = None,
    same_work: bool | None = None,
    executor: Executor = HERE,
) -> Diagnosis:
    """The verdict with what it was chosen from; `keep_accounts` asks for that even where there is nothing to choose.

    `stack_events`: event stacks used to infer latency, of syscalls, switches and samples. `where` is what the
    user says of a stall, `possible` what could be recorded next. `same_work`: whether all runs were told to do the
    same, None: their commands tell. Deep recordings among both add relations. `executor`: who does the work; the
    verdict is the same.
    """
    if not good or not bad:
        raise WhyperfError("At least one good and one bad recording are needed.", "whyperf diagnose GOOD BAD", status=2)
    mixture = parted(good, bad)
    good, bad = mixture.sampled.good, mixture.sampled.bad
    tallied = executor.map("reading recordings", tally, BlockedWaits.ALL, (*good, *bad))
    runs = [Run(one, tally=known) for one, known in zip((*good, *bad), tallied, strict=True)]
    sides, sources = (runs[: len(good)], runs[len(good) :]), sources_named(stack_events)
    counted = mixture.counted if mixture.counted.good else None
    case = Case(
        *sides,
        settings or DiagnoseSettings(),
        method,
        sources,
        same_work=same_work,
        counted=counted,
        executor=executor,
    )
    refuse_different_programs(case.good, case.bad)
    decision = case.decide()
    if all(holds_memory(run.recording) for run in case.runs):
        from whyperf.diagnose.memory import decide_memory  # for those few who have sampled allocations

        decision = decide_memory(case, decision, same_work=same_work, counted=counted)
    if all(is_traced(one) for one in (*good, *bad)):
        from whyperf.diagnose.causes import view_causes, with_stalls  # compiled code, for those few who have traced

        if (stalls := view_causes(good, bad, method, where, executor)) is not None:
            decision = with_stalls(decision, stalls, case.settings)
    possible = possible or KnownPossible()
    if mixture.deep.good:
        decision = _with_relations(decision, mixture.deep, case.settings)
        possible = KnownPossible(possible.trace)
    excess = decision.excess
    if excess is None and keep_accounts:
        excess = case.compared()
    joined = lifted(join(decision.claims, TRUST[decision.nature]), case.bad, excess)
    step = _next(case, decision, joined, possible) if decision.kind is VerdictKind.DIFFERENCE else None
    verdict = _concluded(case, decision, joined, step)
    program = case.counted_program
    if counted and program and decision.kind is VerdictKind.DIFFERENCE and decision.nature is Nature.CPU:
        from whyperf.diagnose.engine_claims.call_counts import call_counts  # for those few who have counted

        counts = call_counts(program, (len(counted.good), len(counted.bad)), case.bad[0].work.unit)
        verdict = with_decider(replace(verdict, counts=counts), case.bad, excess)
    return Diagnosis(verdict, excess, decision.values, step)


def _with_relations(decision: Decision, deep: Sides[Recorded], settings: DiagnoseSettings) -> Decision:
    """Changed relations beside what else explains a difference."""
    from whyperf.diagnose.relations import counted_claims  # compiled code, for those few who have counted

    claims, notes = counted_claims(deep.good, deep.bad, settings)
    claims = claims if decision.kind is VerdictKind.DIFFERENCE else ()
    return replace(decision, claims=(*decision.claims, *claims), notes=(*decision.notes, *notes))


def _concluded(case: Case, decision: Decision, joined: Joined, step: NextStep | None) -> Verdict:
    notes, command = list(decision.notes), decision.next_command
    if decision.kind is VerdictKind.DIFFERENCE:
        command = None if step is None else compare_again(case.good, case.bad, *step.options)
        notes += [] if step is None else [step.why]
    notes += filter(None, [also_changed(case.total_changes, decision.symptom.measure)])
    notes += case.work_notes(decision.excess)
    notes += case.measures.notes
    notes += loss_notes(case.good, case.bad, _concerned(case, decision, joined), case.settings)
    if command:
        notes += lifecycle_reminder(case.runs)
    else:
        command = after(decision.kind, decision.symptom, joined.suspects, case.good, case.bad)
    contexts = case.contexts.ranking if decision.kind is VerdictKind.DIFFERENCE and case.contexts is not None else None
    return Verdict(
        kind=decision.kind,
        symptom=decision.symptom,
        suspects=_without_sufferers(joined.suspects),
        notes=tuple(dict.fromkeys(notes)),
        next_command=command,
        contexts=contexts,
        disagreements=joined.disagreements,
        memory_grew=resident_grew(case.measures.memory, case.settings),
        machine=case.busy_machine(decision.symptom.measure),
        percentiles=case.requests.percentiles if case.requests is not None else (),
        totals=case.total_changes,
    )


def _without_sufferers(suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Where the holder of a lock answers for all of it, those who wait for the lock are no suspects."""
    held = any(one.engine == LOCKS for suspect in suspects[:1] for one in suspect.evidence)
    return tuple(one for one in suspects if one.score > 0) if held else suspects


def _next(case: Case, decision: Decision, joined: Joined, possible: Possible) -> NextStep | None:
    recordings = RecordedSides(
        traced=all(run.manifest.trace is not None for run in case.runs),
        waits=case.recorded_waits,
        fewest_runs=min(len(case.good), len(case.bad)),
        inlined=_inlined_everywhere(case.runs) if decision.symptom.kind == "cpu" else frozenset(),
        unseen=decision.unseen,
        memory=all(holds_memory(run.recording) for run in case.runs),
    )
    here = possible if can_go_deep(case.runs) else KnownPossible(possible.trace)
    return next_step(decision.symptom, joined, recordings, here, case.settings)


def _inlined_everywhere(runs: Sequence[Run]) -> frozenset[str]:
    return frozenset(name for run in runs for name in run.inlined_everywhere)


def _concerned(case: Case, decision: Decision, joined: Joined) -> set[str]:
    """Modules in which a suspect lies, or a good part of the excess."""
    shares: defaultdict[str, float] = defaultdict(float)
    if decision.excess is not None:
        functions = decision.excess.index.functions
        for account in decision.excess.accounts:
            shares[functions[account.function].key.module] += account.share
    large = {module for module, share in shares.items() if share > case.settings.module_part}
    return large | {suspect.module for suspect in joined.suspects}
