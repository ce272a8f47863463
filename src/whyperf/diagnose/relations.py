"""The verdict on deep recordings: which relation between events changed, and how much of the symptom that explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from whyperf.diagnose.joining.claims import Claim, claims_of
from whyperf.diagnose.joining.confidence import HIGH, LOW, MEDIUM
from whyperf.diagnose.joining.join import join
from whyperf.diagnose.joining.suspects import to_suspects
from whyperf.diagnose.joining.trust import TRUST
from whyperf.diagnose.losses import loss_notes
from whyperf.diagnose.measured.symptom_kind import Nature
from whyperf.diagnose.next_command.advice import compare_again, diagnose_swapped, lifecycle_reminder
from whyperf.diagnose.next_command.settled import after
from whyperf.diagnose.other_allocators import memory_from_elsewhere
from whyperf.diagnose.same_program import refuse_different_programs
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Confidence, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.finding import HotLine
from whyperf.engines.quantities import count, percent, seconds
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.relations.compare import compare
from whyperf.engines.relations.detail import RelationsDetail
from whyperf.engines.relations.executions.line_matching import all_source_lines
from whyperf.engines.relations.reported.candidates import SymptomChange
from whyperf.engines.relations.reported.findings import Relations
from whyperf.engines.relations.settings import RelationsSettings
from whyperf.engines.run import Run
from whyperf.errors import WhyperfError
from whyperf.recording.sealed.manifest import Manifest
from whyperf.recording.symptom import SymptomKind, SymptomSpec, parse_symptom
from whyperf.recording.zoom import some_of

_MEASURES = {
    SymptomKind.INSTRUCTIONS: "instructions",
    SymptomKind.FUNCTION: "calls",
    SymptomKind.LINE: "executions",
    SymptomKind.VARIABLE: "change",
    SymptomKind.MEMORY: "bytes",
}
_INEXACT = {
    "x87": "instructions of the x87 unit depend on its last results as a whole",
    "producers": "producers beyond the 60th of an execution were left out",
    "outside": "values came from code outside the plan, so where they come from is unknown",
    "depth": "calls deeper than 60,000 were folded into their callers",
    "stacks": "times the program went over to another stack: its activations are told apart by stack",
    "events": "executions beyond the limit were not recorded",
    "helpers": "instructions that Valgrind runs by a helper depend on all of its state",
    "jump_tables": "jumps through tables go to unknown places",
}


def examine_deep(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    spec: SymptomSpec | None = None,
    settings: DiagnoseSettings | None = None,
    relations_settings: RelationsSettings | None = None,
) -> Verdict:
    """The verdict on sketches, or on zooms."""
    return _compared(good, bad, spec, settings, relations_settings).verdict()


def counted_claims(
    good: Sequence[Recorded], bad: Sequence[Recorded], settings: DiagnoseSettings
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """What sketches or zooms claim beside what other recordings of the same program show, and what was noted."""
    compared = _compared(good, bad, None, settings, None)
    return tuple(compared.claims()), compared.relations.notes


def _compared(
    good: Sequence[Recorded],
    bad: Sequence[Recorded],
    spec: SymptomSpec | None,
    settings: DiagnoseSettings | None,
    relations_settings: RelationsSettings | None,
) -> _Deep:
    asked = spec or _asked([*good, *bad])
    phases = {_phase(recording.manifest) for recording in (*good, *bad)}
    if len(phases) > 1:
        raise WhyperfError(
            "Sketches and zooms cannot be compared with each other: name recordings of one kind.",
            "whyperf diagnose GOOD-ZOOM BAD-ZOOM",
            status=2,
        )
    runs = [Run(one) for one in good], [Run(one) for one in bad]
    refuse_different_programs(*runs)
    chosen = relations_settings or RelationsSettings()
    relations = compare(good, bad, asked, chosen)
    return _Deep(*runs, asked, relations, settings or DiagnoseSettings(), chosen)


def _phase(manifest: Manifest) -> str:
    return manifest.deep.phase if manifest.deep is not None else ""


def _asked(recordings: Sequence[Recorded]) -> SymptomSpec:
    """What zooms were planned for."""
    said = {one.manifest.deep.symptom for one in recordings if one.manifest.deep is not None}
    only = said.pop() if len(said) == 1 else ""
    return parse_symptom(only) if only else SymptomSpec(SymptomKind.INSTRUCTIONS)


@dataclass(frozen=True)
class _Deep:
    good: Sequence[Run]
    bad: Sequence[Run]
    spec: SymptomSpec
    relations: Relations
    settings: DiagnoseSettings
    relations_settings: RelationsSettings

    @property
    def _nature(self) -> Nature:
        return Nature.MEMORY if self.spec.kind is SymptomKind.MEMORY else Nature.CPU

    def verdict(self) -> Verdict:
        relations = self.relations
        change = SymptomChange(relations.good, relations.bad)
        if not change.is_material(self.relations_settings) and (elsewhere := self._memory_from_elsewhere()) is not None:
            by_name = compare_again(self.good, self.bad, "--deep", "--symptom", "function:NAME")
            return self._verdict(VerdictKind.INSUFFICIENT, elsewhere, next_command=by_name)
        if not relations.good and not relations.bad:
            raise WhyperfError(
                f"There were no {relations.symptom}, neither in the good runs nor in the bad ones.",
                "whyperf compare --deep --symptom function:NAME ...",
            )
        if max(abs(change.good), abs(change.bad)) < self.relations_settings.few_events:
            return self._verdict(VerdictKind.INSUFFICIENT, self._too_few())
        if not change.is_material(self.relations_settings):
            return self._verdict(VerdictKind.NONE, self._too_alike(change))
        if change.amount < 0 and not self.spec.name:
            swapped = diagnose_swapped(self.good, self.bad)
            sentence = f"Bad runs are not the worse ones: {self._amounts()}. Were good and bad swapped?"
            return self._verdict(VerdictKind.NONE, sentence, next_command=swapped)
        return self._changed(change)

    def _memory_from_elsewhere(self) -> str | None:
        if self.spec.kind is not SymptomKind.MEMORY:
            return None
        return memory_from_elsewhere(self.good, self.bad, self.settings)

    def _changed(self, change: SymptomChange) -> Verdict:
        suspects = join(self.claims(), TRUST[self._nature]).suspects
        notes, command = [], None
        if not suspects:
            notes.append(
                "No relation within the recorded code explains it: look at what the program is given from outside "
                "(input, settings, time, the system's answers)."
            )
        if self.relations.phase == "sketch":
            notes.append("This is what counting calls says; a zoom into the functions involved names the lines.")
            command = compare_again(self.good, self.bad, "--deep", "--symptom", str(self.spec))
            notes += lifecycle_reminder((*self.good, *self.bad))
        verb = "More" if change.amount > 0 else "Fewer"
        times = f": {_ratio(change.bad / change.good)} times as many" if min(change.good, change.bad) > 0 else ""
        sentence = f"{verb} {self.relations.symptom}: {count(change.bad)}, not {count(change.good)}{times}."
        return self._verdict(VerdictKind.DIFFERENCE, sentence, suspects=suspects, notes=notes, next_command=command)

    def _amounts(self) -> str:
        relations = self.relations
        each = " a run" if max(len(self.good), len(self.bad)) > 1 else ""
        return f"{count(relations.bad)} {relations.symptom}{each} in the bad runs, {count(relations.good)} in the good"

    def _too_alike(self, change: SymptomChange) -> str:
        if abs(change.amount) < self.relations_settings.least_contribution * max(abs(change.good), abs(change.bad)):
            return f"No difference: {self._amounts()}."
        least = percent(self.relations_settings.symptom_changed)
        return (
            f"Too small a difference to be explained: {self._amounts()}. From {least} of the larger on, changed "
            "relations stand out: give the runs input that shows the behaviour more clearly, or name a --symptom."
        )

    def _too_few(self) -> str:
        least = self.relations_settings.few_events
        return f"The runs are too short: {self._amounts()}, and fewer than {least} say nothing. Give them more to do."

    def claims(self) -> Iterator[Claim]:
        """One a relation: a function may have several."""
        findings = self.relations.findings
        found = to_suspects(findings, fewest_runs=1, doubtful=False, settings=self.settings)
        sources = all_source_lines(self.bad) if found else {}
        suspects = [
            replace(
                one,
                kind="relation",
                confidence=self._confidence(one),
                why=one.why + _elsewhere(one, sources),
                lines=_source(one, sources),
            )
            for one in found
        ]
        for claim in claims_of(findings, suspects):
            yield replace(claim, thing=replace(claim.thing, part=f"relation {claim.rank}"))

    def _confidence(self, suspect: Suspect) -> Confidence:
        """Counts are exact; what is uncertain is whether the relation is the cause of what it explains."""
        settings, zoomed = self.settings, self.relations.phase == "zoom"
        if zoomed and suspect.share >= settings.relation_high_share:
            return HIGH
        least = settings.relation_medium_share if zoomed else settings.relation_high_share
        return MEDIUM if suspect.share >= least else LOW

    def _verdict(
        self,
        kind: VerdictKind,
        sentence: str,
        *,
        suspects: tuple[Suspect, ...] = (),
        notes: Sequence[str] = (),
        next_command: str | None = None,
    ) -> Verdict:
        relations = self.relations
        symptom = Symptom(
            kind=self._nature.value,
            unit="run",
            good=relations.good,
            bad=relations.bad,
            measure=_MEASURES[self.spec.kind],
            runs=(len(self.good), len(self.bad)),
            sentence=sentence,
        )
        lost = loss_notes(self.good, self.bad, {suspect.module for suspect in suspects}, self.settings)
        said = dict.fromkeys([*notes, *self._uncounted(), *relations.notes, *self._left_out(), *self._inexact(), *lost])
        command = next_command or after(kind, symptom, suspects, self.good, self.bad)
        return Verdict(kind, symptom, suspects, tuple(said), command)

    def _uncounted(self) -> list[str]:
        """Time in the kernel, where that grew by more than all that Valgrind makes many times slower."""
        if self.spec != SymptomSpec(SymptomKind.INSTRUCTIONS):
            return []
        good, bad = (_mean_cpu_time(side) for side in (self.good, self.bad))
        added = bad.kernel_s - good.kernel_s
        if added < max(bad.user_s - good.user_s, self.settings.least_uncounted_s):
            return []
        return [
            f"Instructions within system calls are not counted, and these took {seconds(bad.kernel_s)}, not "
            f"{seconds(good.kernel_s)}: who makes them is shown by samples, that is by comparing without --deep."
        ]

    def _left_out(self) -> list[str]:
        deep = [run.manifest.deep for run in (*self.good, *self.bad)]
        names = list(dict.fromkeys(name for one in deep if one is not None for name in one.left_out))
        if not names:
            return []
        return [f"The zooms left out functions that execute too much: {some_of(names)}."]

    def _inexact(self) -> list[str]:
        notes = []
        for run in (*self.good, *self.bad):
            inexact = run.manifest.deep.inexact if run.manifest.deep is not None else {}
            notes += [
                f"{run.recording.path.name}: {count(amount)} {_INEXACT[name]}."
                for name, amount in inexact.items()
                if name in _INEXACT and amount >= self.settings.inexact_part * _executions(run)
            ]
        return notes


def _source(suspect: Suspect, sources: Mapping[str, Mapping[int, str]]) -> tuple[HotLine, ...]:
    """The lines of the decision and of its cause, where that is in the same file, with what is around them."""
    named = {suspect.line, *(line.line for line in suspect.lines)} - {0}
    text = sources.get(suspect.file, {})
    shown = sorted({line + beside for line in named for beside in (-1, 0, 1)} & text.keys())
    return tuple(HotLine(line, suspect.share if line in named else 0.0, text[line]) for line in shown)


def _elsewhere(suspect: Suspect, sources: Mapping[str, Mapping[int, str]]) -> str:
    """The line of a cause that is in another file."""
    detail = suspect.evidence[0].detail
    cause = detail.cause if isinstance(detail, RelationsDetail) else None
    if cause is None or cause.file == suspect.file:
        return ""
    text = sources.get(cause.file, {}).get(cause.line, "").strip()
    return f" Line {cause.line} of {PurePosixPath(cause.file).name}: {text}" if text else ""


@dataclass(frozen=True)
class _CpuTime:
    user_s: float
    kernel_s: float


def _mean_cpu_time(side: Sequence[Run]) -> _CpuTime:
    totals = [run.manifest.totals for run in side]
    user = sum(one.cpu_user_s for one in totals)
    return _CpuTime(user / len(totals), sum(one.cpu_system_s for one in totals) / len(totals))


def _executions(run: Run) -> float:
    return run.manifest.deep.executions if run.manifest.deep is not None else 0.0


def _ratio(value: float) -> str:
    return f"{value:.2g}" if value < 1 else count(value)
