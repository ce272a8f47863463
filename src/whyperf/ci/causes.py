"""What a verdict's suspects come to in a report on a change."""

from __future__ import annotations

from whyperf.ci.diff import diff_lines
from whyperf.ci.result import Cause
from whyperf.ci.state import BenchmarkState
from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.revisions.git import GitError, ask
from whyperf.revisions.suspects import ComparedCommits

_MOST = 3


def causes_of(verdict: Verdict, state: BenchmarkState, compared: ComparedCommits) -> tuple[Cause, ...]:
    """Of a head that is slower or faster. `compared` as the verdict was made: its bad side took longer."""
    return tuple(_cause(suspect, state, compared) for suspect in verdict.suspects[:_MOST])


def _cause(suspect: Suspect, state: BenchmarkState, compared: ComparedCommits) -> Cause:
    file = compared.in_repository(suspect.file)
    slower, tracked = state is BenchmarkState.SLOWER, bool(file) and _is_tracked(compared, file)
    said = [one.sentence for one in suspect.variables if one.sentence]
    said += [one.why for one in suspect.evidence if one.why]
    return Cause(
        suspect.function,
        suspect.module,
        file if tracked else "",
        suspect.line if tracked else 0,
        suspect.share,
        suspect.confidence,
        suspect.why if slower else "",
        tuple(diff_lines(suspect.change, suspect.lines)) if slower and suspect.change is not None else (),
        suspect.commits,
        suspect.lines if slower else (),
        tuple(one for one in dict.fromkeys(said) if one not in suspect.why) if slower else (),
    )


def _is_tracked(compared: ComparedCommits, file: str) -> bool:
    """Whether git has it: what a build makes in a checkout is nothing to point at."""
    try:
        return bool(
            ask(compared.repository.top, "ls-tree", "--full-tree", "--name-only", compared.bad.commit, "--", file)
        )
    except GitError:
        return False
