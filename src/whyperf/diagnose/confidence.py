"""How sure a suspect is. The rules are in docs/how-excess-works.md, word for word."""

from __future__ import annotations

from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.finding import Finding

HIGH, MEDIUM, LOW = "high", "medium", "low"


def confidence(finding: Finding, *, fewest_runs: int, doubtful: bool, settings: DiagnoseSettings) -> str:
    """`fewest_runs`: of the kind with fewer runs. `doubtful`: something about the whole comparison is."""
    strength = finding.strength
    if strength is None or fewest_runs < 2 or not strength.separated or not strength.stands_out:
        return LOW
    if (
        fewest_runs >= settings.high_runs
        and strength.sigma >= settings.high_sigma
        and strength.low >= settings.high_share
        and not doubtful
        and not strength.inferred
    ):
        return HIGH
    return MEDIUM
