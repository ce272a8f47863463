"""What a verdict's suspects come to in a report on a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whyperf.ci.result import Cause
from whyperf.ci.state import BenchmarkState
from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.engines.finding import ChangedLine, HotLine, SourceChange
from whyperf.revisions.git import GitError, ask
from whyperf.revisions.suspects import ComparedCommits

_MOST = 3
_SIGNS = {"good": "-", "bad": "+", "both": " "}
_CONTEXT = 3  # lines, as git has it


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


def diff_lines(change: SourceChange, around: Sequence[HotLine]) -> list[str]:
    """Changed lines as a diff, with those around them as far as the recordings hold them. `around`: lines of the
    head."""
    known = {line.line: line.text for line in around}
    taken = {line.line for hunk in change.hunks for line in hunk if line.build != "good"}
    lines = list[str]()
    for hunk in change.hunks:
        lines += [_header(hunk), *_before(hunk, known, taken)]
        lines += [f"{_SIGNS[line.build]}{line.text}" for line in hunk]
        lines += _after(hunk, known, taken)
    if change.more:
        lines.append(f"@@ {change.more} more changed lines @@")
    return lines


def _header(hunk: Sequence[ChangedLine]) -> str:
    old, new = (
        next((line.line for line in hunk if line.build in builds), None) for builds in (["good"], ["bad", "both"])
    )
    return " ".join(["@@", *([f"-{old}"] if old else []), *([f"+{new}"] if new else []), "@@"])


def _before(hunk: Sequence[ChangedLine], known: dict[int, str], taken: set[int]) -> Iterator[str]:
    first = next((line.line for line in hunk if line.build != "good"), 0)
    rows = range(first - _CONTEXT, first)
    return (f" {known[row]}" for row in rows if row in known and row not in taken)


def _after(hunk: Sequence[ChangedLine], known: dict[int, str], taken: set[int]) -> Iterator[str]:
    last = max((line.line for line in hunk if line.build != "good"), default=0)
    rows = range(last + 1, last + 1 + _CONTEXT) if last else range(0)
    return (f" {known[row]}" for row in rows if row in known and row not in taken)
