"""The investigation of a verdict between two revisions goes on where functions could not be proven: by single hunks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyperf.comparison.progress import Steps
from whyperf.diagnose.origin import Proof, ProofFinding
from whyperf.diagnose.verdict import Verdict, VerdictKind
from whyperf.engines.recording_protocol import Recorded
from whyperf.investigation.cause import with_proofs
from whyperf.investigation.investigate import measure_of
from whyperf.investigation.subject import Subject
from whyperf.investigation.units import why_not_counted
from whyperf.proof.rounds import SharedFileError, Trying
from whyperf.proof.trial import TrialKind
from whyperf.revisions.functions import declarations
from whyperf.revisions.proofs import Building, prove_by_hunks
from whyperf.revisions.suspects import ComparedCommits


@dataclass(frozen=True)
class Rebuilding:
    build: str | None
    bad: Sequence[Recorded]  # that say where functions are declared
    ends: float  # by the monotonic clock
    shown: Steps


def investigate_hunks(verdict: Verdict, compared: ComparedCommits, subject: Subject, rebuilding: Rebuilding) -> Verdict:
    """The verdict as it was where something is proven already, where nothing is built, or where no hunk explains it."""
    measure, left = measure_of(verdict), rebuilding.ends - time.monotonic()
    proofs = [proof for suspect in verdict.suspects for proof in suspect.proofs]
    if measure is None or verdict.kind is not VerdictKind.DIFFERENCE or not rebuilding.build or left <= 0:
        return verdict
    if any(proof.finding is ProofFinding.PROVEN for proof in proofs) or why_not_counted(subject, measure):
        return verdict

    def told(kind: TrialKind, number: int) -> None:
        rebuilding.shown.step(f"taking back single changes: {kind.value} run {number + 1}", 0.0, None)

    building = Building(
        rebuilding.build,
        subject.bad.command,
        subject.lifecycles,
        subject.environment,
        rebuilding.shown,
        subject.units.calls,
    )
    trying = Trying(measure, subject.output_files, budget_s=left, on_run=told, on_tick=rebuilding.shown.tick)
    try:
        found = prove_by_hunks(compared, verdict.suspects, declarations(rebuilding.bad), building, trying)
    except SharedFileError:  # trials of functions have said so
        return verdict
    return _with_hunk(verdict, found[0]) if found else verdict


def _with_hunk(verdict: Verdict, hunk: Proof) -> Verdict:
    """With its function first if it is proven, or supported where nothing else is. What is between functions, such as a
    macro, a type or an initial value, leaves first who pays for it."""
    settled = [one for suspect in verdict.suspects for one in suspect.proofs if one.is_settled]
    if hunk.function and (hunk.finding is ProofFinding.PROVEN or (hunk.is_settled and not settled)):
        return with_proofs(verdict, (hunk,))
    if not verdict.suspects:
        return replace(verdict, notes=(*verdict.notes, hunk.sentence))
    payer, *others = verdict.suspects
    return replace(verdict, suspects=(replace(payer, proofs=(*payer.proofs, hunk)), *others))
