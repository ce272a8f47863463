"""How sure a suspect is. The rules are in docs/how-excess-works.md, word for word."""

from __future__ import annotations

from typing import Final

from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import Confidence
from whyperf.engines.finding import Finding

HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"


def confidence(finding: Finding, *, fewest_runs: int, doubtful: bool, settings: DiagnoseSettings) -> Confidence:
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


def doubt(finding: Finding, *, fewest_runs: int, doubtful: bool, settings: DiagnoseSettings) -> str:
    """Why it is not high, and what would raise it; empty where it is."""
    if confidence(finding, fewest_runs=fewest_runs, doubtful=doubtful, settings=settings) == HIGH:
        return ""
    strength = finding.strength
    if fewest_runs < settings.high_runs:
        runs = "a single run" if fewest_runs == 1 else f"{fewest_runs} runs"
        return f"only {runs} of a kind; --runs {settings.high_runs} would raise it"
    if strength is None:
        return "nothing was measured that could be compared between runs"
    more = f"--runs {2 * fewest_runs}"
    reasons = {
        f"some good run has more of it than some bad run; {more} would tell": not strength.separated,
        "it is inferred from what was seen elsewhere": strength.inferred or not strength.stands_out,
        "many stacks are cut; debug information or -fno-omit-frame-pointer would complete them": doubtful,
        f"it may be less than {100 * settings.high_share:.0f}% of the excess": strength.low < settings.high_share,
    }
    apart = f"it is {strength.sigma:.1f} standard errors apart; longer runs or {more} would raise it"
    return next((reason for reason, holds in reasons.items() if holds), apart)
