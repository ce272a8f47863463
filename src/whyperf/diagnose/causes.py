"""What kernel events say of stalls: who should have acted, joined with what the other engines say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyperf.diagnose.confidence import HIGH, LOW, MEDIUM
from whyperf.diagnose.data import Method
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.suspects import to_suspects
from whyperf.diagnose.verdict import Evidence, Suspect, Symptom, Verdict, VerdictKind
from whyperf.engines.causes import words
from whyperf.engines.causes.diagnosis import Causes, Where, find_causes
from whyperf.engines.causes.findings import findings
from whyperf.engines.causes.paper.findings import paper_findings
from whyperf.engines.finding import Finding
from whyperf.engines.recorded import Recorded

_CONFIDENCE = {"strong": HIGH, "weak": MEDIUM, "inferred": MEDIUM, "guess": LOW, "unknown": LOW}


@dataclass(frozen=True, eq=False)
class CausesView:
    """Stalls of the bad recording in which the longest was found."""

    causes: Causes
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        stall = self.causes.stalls[0]
        said = words.usual(stall.anomaly, compared=bool(self.causes.normals))
        return f"{words.stalled(self.causes.graph, stall.anomaly)}; {said}."

    def symptom(self, runs: tuple[int, int]) -> Symptom:
        anomaly = self.causes.stalls[0].anomaly
        lasted = (anomaly.end - anomaly.begin) / 1e9
        return Symptom("wait", "stall", anomaly.normal / 1e9, lasted, "wall_s", runs, sentence=self.sentence)

    def suspects(self, settings: DiagnoseSettings) -> tuple[Suspect, ...]:
        """One a function: several stalls may have the same cause."""
        plain = to_suspects(self.findings, fewest_runs=1, doubtful=False, settings=settings)
        alike: dict[tuple[str, str], list[Suspect]] = {}
        for suspect, finding in zip(plain, self.findings, strict=True):
            told = replace(
                suspect,
                kind="thread",
                process=finding.detail.get("culprit_process"),
                thread=finding.detail.get("culprit_thread"),
                confidence=_CONFIDENCE[finding.detail.get("certainty", "weak")],
            )
            alike.setdefault((told.module, told.function), []).append(told)
        return tuple(_one_of(same, rank) for rank, same in enumerate(alike.values(), 1))


def _one_of(same: Sequence[Suspect], rank: int) -> Suspect:
    first, others = same[0], len(same) - 1
    again = f" {others} more {'stall has' if others == 1 else 'stalls have'} the same cause." if others else ""
    return replace(first, rank=rank, why=first.why + again)


def view_causes(
    good: Sequence[Recorded], bad: Sequence[Recorded], method: Method, where: Where | None = None
) -> CausesView | None:
    """None where a recording has no kernel events."""
    if not all(one.manifest.trace is not None and "events" in one.manifest.tables for one in (*good, *bad)):
        return None
    found = [find_causes(one, good, where=where) for one in bad]
    worst = max(found, key=lambda one: one.stalls[0].anomaly.excess if one.stalls else 0)
    said = paper_findings(worst) if method is Method.PAPER else findings(worst)
    return CausesView(worst, said)


def joined(verdict: Verdict, view: CausesView, settings: DiagnoseSettings) -> Verdict:
    """Where the time went into waiting, or nothing else was found, the cause of the stall comes first; where it went
    into running, behind what ran. A function that another engine suspects too is one suspect with both's evidence."""
    notes = tuple(dict.fromkeys((*verdict.notes, *view.causes.notes)))
    if not view.findings:
        return replace(verdict, notes=notes)
    ours = view.suspects(settings)
    if verdict.kind is not VerdictKind.DIFFERENCE:
        symptom = view.symptom(verdict.symptom.runs)
        kind = VerdictKind.DIFFERENCE
        return replace(verdict, kind=kind, symptom=symptom, suspects=ours, notes=notes, next_command=None)
    told = {(one.module, one.function): one for one in ours}
    theirs = [_with(one, told.get((one.module, one.function))) for one in verdict.suspects]
    known = {(one.module, one.function) for one in theirs}
    if verdict.symptom.kind == "cpu":
        ordered = [*theirs, *(one for one in ours if (one.module, one.function) not in known)]
    else:
        by_name = {(one.module, one.function): one for one in theirs}
        first = [_with(one, by_name.get((one.module, one.function))) for one in ours]
        ordered = [*first, *(one for one in theirs if (one.module, one.function) not in told)]
    suspects = tuple(replace(one, rank=rank) for rank, one in enumerate(ordered, 1))
    return replace(verdict, suspects=suspects, notes=notes)


def _with(suspect: Suspect, other: Suspect | None) -> Suspect:
    """The same function by another engine: its evidence, and who ran it."""
    if other is None:
        return suspect
    new = [one for one in other.evidence if one.engine not in {own.engine for own in suspect.evidence}]
    evidence: tuple[Evidence, ...] = (*suspect.evidence, *new)
    process, thread = suspect.process or other.process, suspect.thread or other.thread
    return replace(suspect, evidence=evidence, process=process, thread=thread)


def examine_stall(stalled: Recorded, where: Where | None = None, settings: DiagnoseSettings | None = None) -> Verdict:
    """One recording alone: its own past is what is normal."""
    causes = find_causes(stalled, [], where=where)
    view = CausesView(causes, findings(causes))
    alone = "Compared with the rest of the same recording: a normal recording beside it tells more."
    notes = (*causes.notes, alone)
    if not view.findings:
        sentence = "Nothing stalled: no wait or turn stands out of the rest of the recording."
        symptom = Symptom("wait", "stall", 0.0, 0.0, "wall_s", (0, 1), sentence=sentence)
        return Verdict(VerdictKind.NONE, symptom, (), notes, f"whyperf diagnose NORMAL {stalled.path}")
    chosen = settings or DiagnoseSettings()
    return Verdict(VerdictKind.DIFFERENCE, view.symptom((0, 1)), view.suspects(chosen), notes)
