"""Findings of engines become suspects of the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.diagnose.joining.confidence import confidence, doubt
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Evidence, Suspect
from whyperf.engines.finding import Finding


def to_suspects(
    findings: Sequence[Finding], *, fewest_runs: int, doubtful: bool, settings: DiagnoseSettings
) -> tuple[Suspect, ...]:
    return tuple(
        Suspect(
            rank=finding.rank,
            kind="function",
            function=finding.function.name,
            module=finding.function.module,
            file=finding.place.file,
            line=finding.place.line,
            block=finding.place.block,
            process=None,
            thread=None,
            path=finding.path,
            score=finding.score,
            share=finding.share,
            confidence=confidence(finding, fewest_runs=fewest_runs, doubtful=doubtful, settings=settings),
            pattern=finding.pattern,
            why=finding.why,
            evidence=(Evidence(finding.engine, finding.rank, finding.score, finding.detail, finding.why),),
            lines=finding.lines,
            decided_by=finding.place.decided_by,
            change=finding.change,
            doubt=doubt(finding, fewest_runs=fewest_runs, doubtful=doubtful, settings=settings),
        )
        for finding in findings
    )
