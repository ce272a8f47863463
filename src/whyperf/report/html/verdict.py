"""The verdict itself, every suspect with the numbers of the evidence that stands behind it in the other sections."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.diagnose.origin import Origin
from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.excess.detail import ExcessDetail
from whyperf.engines.finding import Detail
from whyperf.engines.run import Run
from whyperf.report.headline import headline
from whyperf.report.html.excerpts import excerpt
from whyperf.report.html.model import (
    CausesSection,
    ContextsSection,
    EvidenceRow,
    Excerpt,
    HopRow,
    OriginRow,
    ProofRow,
    RelationsSection,
    RunAmounts,
    SourceLine,
    SuspectRow,
    ValuesSection,
    VerdictSection,
)

_AROUND = 6


def verdict_section(
    verdict: Verdict,
    runs: Sequence[Run],
    *,
    values: ValuesSection | None,
    contexts: ContextsSection | None,
    causes: CausesSection | None,
    relations: RelationsSection | None,
) -> VerdictSection:
    """`runs` hold the source that is shown."""
    symptom = verdict.symptom
    variables = _numbers([(one.function, one.module) for one in values.variables] if values else [])
    frames = _numbers([(one.name, one.module) for one in contexts.functions] if contexts else [])
    graphs = {graph.rank: number for number, graph in enumerate(relations.graphs)} if relations else {}
    stories = {story.rank: number for number, story in enumerate(causes.stories)} if causes else {}
    return VerdictSection(
        kind=verdict.kind,
        headline=headline(verdict),
        sentence=symptom.sentence,
        symptom=symptom.kind,
        measure=symptom.measure,
        unit=symptom.unit,
        good=symptom.good,
        bad=symptom.bad,
        runs=RunAmounts(symptom.good_runs, symptom.bad_runs),
        warnings=(*filter(None, [verdict.machine]), *verdict.warnings),
        suspects=tuple(
            _suspect(
                suspect,
                runs,
                variables=tuple(variables.get((suspect.function, suspect.module), ())),
                relation=graphs.get(suspect.rank),
                cause=stories.get(suspect.rank),
                frame=next(iter(frames.get((suspect.function, suspect.module), ())), None),
            )
            for suspect in verdict.suspects
        ),
        disagreements=verdict.disagreements,
        notes=verdict.notes,
        next_command=verdict.next_command,
    )


def _numbers(owners: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for number, owner in enumerate(owners):
        found.setdefault(owner, []).append(number)
    return found


def _suspect(
    suspect: Suspect,
    runs: Sequence[Run],
    *,
    variables: tuple[int, ...],
    relation: int | None,
    cause: int | None,
    frame: int | None,
) -> SuspectRow:
    detail = suspect.evidence[0].detail if suspect.evidence else Detail()
    return SuspectRow(
        rank=suspect.rank,
        function=suspect.function,
        module=suspect.module,
        file=suspect.file,
        line=suspect.line,
        path=suspect.path,
        share=suspect.share,
        interval=detail.interval,
        confidence=suspect.confidence,
        pattern=suspect.pattern,
        why=suspect.why,
        runs=_amounts(detail),
        inside=detail.inside if isinstance(detail, ExcessDetail) else (),
        excerpt=_excerpt(suspect, runs),
        change=suspect.change,
        variables=variables,
        relation=relation,
        cause=cause,
        frame=frame,
        evidence=tuple(
            EvidenceRow(one.engine, one.rank, "" if one.why in suspect.why else one.why) for one in suspect.evidence
        ),
        origin=None if suspect.origin is None else _origin(suspect.origin),
        proofs=tuple(ProofRow(one.finding, one.sentence) for one in suspect.proofs),
    )


def _origin(origin: Origin) -> OriginRow:
    hops = (
        HopRow(
            hop.function,
            hop.module,
            hop.file,
            hop.line,
            hop.source.strip(),
            hop.what,
            hop.good,
            hop.bad,
            hop.deep,
            hop.differs,
        )
        for hop in origin.hops
    )
    return OriginRow(tuple(hops), origin.turn, origin.sentence, origin.runs)


def _amounts(detail: Detail) -> RunAmounts | None:
    """What the suspect answers for, run by run, where its engine counts so."""
    if detail.good_runs is None or detail.bad_runs is None:
        return None
    return RunAmounts(detail.good_runs, detail.bad_runs)


def _excerpt(suspect: Suspect, runs: Sequence[Run]) -> Excerpt | None:
    """More of the source than the terminal shows; what the verdict itself holds where the recordings hold no more."""
    shares = {line.line: line.share for line in suspect.lines if line.share > 0}
    if not shares and suspect.line > 0:
        shares = {suspect.line: suspect.share}
    found = excerpt(runs, suspect.file, shares, _AROUND, suspect.decided_by)
    if found is not None or not any(line.text.strip() for line in suspect.lines):
        return found
    lines = (SourceLine(one.line, one.text, one.share, one.line == suspect.decided_by) for one in suspect.lines)
    return Excerpt(suspect.file, tuple(lines))
