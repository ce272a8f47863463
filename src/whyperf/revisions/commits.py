"""The commits between two revisions, and how likely each is the first slow one before any is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whyperf.diagnose.verdict import Verdict
from whyperf.engines.recording_protocol import Recorded
from whyperf.errors import WhyperfError
from whyperf.revisions.functions import declarations
from whyperf.revisions.git import Commit, GitError, Repository, ask
from whyperf.revisions.suspects import CommitHistory, ComparedCommits, names_in

_FIELDS = "%H%x00%P%x00%an <%ae>%x00%ad%x00%s"
# How the probability is spread at first. Measured by none: that a regression is in the code that became slow is common,
# that it is elsewhere costs two or three comparisons more.
_TO_FUNCTIONS, _TO_FILES = (
    0.55,
    0.25,
)  # commits that changed a suspect or its callers, or their files; the rest: all alike
_CALLER = 0.3  # a caller's weight beside its suspect's


@dataclass(frozen=True)
class CandidateCommit(Commit):
    parents: tuple[str, ...] = ()


def candidates(repository: Repository, good: str, bad: str) -> list[CandidateCommit]:
    """After `good`, up to `bad`, oldest first: each followed by its first parent, so that a merged branch is one."""
    try:
        ask(repository.top, "merge-base", "--is-ancestor", good, bad)
    except GitError:
        raise WhyperfError(
            f"{bad[:10]} does not descend from {good[:10]}: start at the commit where the two parted.",
            f"git merge-base {good[:10]} {bad[:10]}",
            status=2,
        ) from None
    return _listed(repository, f"{good}..{bad}")


def merged(repository: Repository, merge: CandidateCommit) -> list[CandidateCommit]:
    """What a merge brought in, oldest first, and then itself: it may have become slow by what it joins."""
    return [*_listed(repository, f"{merge.parents[0]}..{merge.parents[1]}"), merge]


def _listed(repository: Repository, revisions: str) -> list[CandidateCommit]:
    printed = ask(repository.top, "log", "--first-parent", "--reverse", f"--format={_FIELDS}", revisions, "--")
    rows = [line.split("\0") for line in printed.split("\n") if line]
    return [CandidateCommit(row[0], row[2], row[3], row[4], tuple(row[1].split())) for row in rows]


def prior(
    commits: Sequence[CandidateCommit], verdict: Verdict, compared: ComparedCommits, recordings: Sequence[Recorded]
) -> list[float]:
    """Commits that changed the suspects are likelier than others. No commit is impossible."""
    shares = dict(_shares(verdict))
    history = CommitHistory(compared, declarations(recordings, names_in(verdict)))
    extents = {name: extent for name in shares if (extent := history.extent(name)) is not None}
    places = _Places(compared, commits)
    by_function, by_file = [0.0] * len(commits), [0.0] * len(commits)
    for name, extent in extents.items():
        lines = f"-L{extent.first},{extent.last}:{extent.file}"
        for weights, touched in (
            (by_function, places.of("--no-patch", lines)),
            (by_file, places.of("--no-patch", path=extent.file)),
        ):
            for commit in touched:
                weights[commit] += shares[name] / len(touched)
    return mixed(len(commits), {_TO_FUNCTIONS: by_function, _TO_FILES: by_file})


def mixed(count: int, parts: Mapping[float, Sequence[float]]) -> list[float]:
    """Each part's weights make up its share of 1; what is left, and parts without any weight, is for all alike."""
    rest, found = 1.0, [0.0] * count
    for share, weights in parts.items():
        whole = sum(weights)
        if whole > 0:
            rest -= share
            found = [one + share * weight / whole for one, weight in zip(found, weights, strict=True)]
    return [one + rest / count for one in found]


def _shares(verdict: Verdict) -> Iterator[tuple[str, float]]:
    for suspect in reversed(verdict.suspects[:5]):
        for caller in suspect.path[-3:]:
            yield caller, _CALLER * max(suspect.share, 0.01)
    for suspect in reversed(verdict.suspects[:5]):
        yield suspect.function, max(suspect.share, 0.01)


class _Places:
    """Which of the candidates a commit is, or came in with."""

    def __init__(self, compared: ComparedCommits, commits: Sequence[CandidateCommit]) -> None:
        self._repository = compared.repository
        self._range = f"{compared.good.commit}..{compared.bad.commit}"
        self._commits = commits
        self._numbers = {one.commit: number for number, one in enumerate(commits)}

    def of(self, *options: str, path: str | None = None) -> list[int]:
        """Of the commits that `git log` selects so."""
        paths = () if path is None else ("--", path)
        try:
            printed = ask(self._repository.top, "log", "--no-merges", "--format=%H", *options, self._range, *paths)
        except GitError:
            return []
        return sorted({self._place(commit) for commit in printed.split("\n") if commit})

    def _place(self, commit: str) -> int:
        if commit in self._numbers:
            return self._numbers[commit]
        first, last = 0, len(self._commits) - 1
        while first < last:
            middle = (first + last) // 2
            try:
                ask(self._repository.top, "merge-base", "--is-ancestor", commit, self._commits[middle].commit)
                last = middle
            except GitError:
                first = middle + 1
        return first
