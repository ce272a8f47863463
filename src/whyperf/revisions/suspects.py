"""What git knows of a verdict between two revisions: the lines that changed, and the commits that changed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.diagnose.verdict import ChangedBy, Revision, Suspect, Variable, Verdict
from whyperf.engines.finding import SourceChange
from whyperf.engines.function_text import function_text
from whyperf.engines.recorded import Recorded
from whyperf.revisions.blame import added_by, removed_by
from whyperf.revisions.checkout import Built
from whyperf.revisions.git import GitError, Repository, ask, commit_of
from whyperf.revisions.hunks import as_change, hunks_of

_ASKED = 5  # suspects whose history is looked up
_MOST_COMMITS = 5  # of each


@dataclass(frozen=True)
class Compared:
    """Two built revisions, as the user calls them."""

    repository: Repository
    good: Built
    bad: Built
    names: tuple[str, str]

    def in_repository(self, file: str) -> str:
        """A source file of either checkout, seen from its top; empty for others."""
        for side in (self.bad, self.good):
            if Path(file).is_relative_to(side.top):
                return str(Path(file).relative_to(side.top))
        return ""


def with_history(verdict: Verdict, compared: Compared, bad: Sequence[Recorded]) -> Verdict:
    """The verdict with both commits and, for each suspect, who changed it. `bad` says where functions are declared."""
    history = _History(compared, _declared(bad, _names(verdict)))
    suspects = tuple(
        history.asked(suspect) if number < _ASKED else suspect for number, suspect in enumerate(verdict.suspects)
    )
    sides = zip(compared.names, (compared.good, compared.bad), strict=True)
    good, bad_ = (_revision(compared.repository, name, built.commit) for name, built in sides)
    return replace(verdict, suspects=suspects, revisions=(good, bad_))


def with_short_paths(verdict: Verdict, compared: Compared) -> Verdict:
    """Files of the checkouts by their names in the repository: nobody wants to read where the cache is."""

    def short(file: str) -> str:
        return compared.in_repository(file) or file

    def variable(one: Variable) -> Variable:
        return replace(one, file=short(one.file))

    return replace(
        verdict,
        suspects=tuple(
            replace(one, file=short(one.file), variables=tuple(map(variable, one.variables)))
            for one in verdict.suspects
        ),
    )


def _revision(repository: Repository, name: str, commit: str) -> Revision:
    found = commit_of(repository, commit)
    return Revision(name, found.commit, found.author, found.date, found.subject)


def _names(verdict: Verdict) -> set[str]:
    return {name for suspect in verdict.suspects[:_ASKED] for name in (suspect.function, *suspect.path)}


def _declared(recordings: Sequence[Recorded], names: set[str]) -> dict[str, tuple[str, int]]:
    """File and line of these functions' declarations."""
    found: dict[str, tuple[str, int]] = {}
    for recording in recordings:
        table = recording.table("functions").select(["name", "file", "line"]).to_pydict()
        for name, file, line in zip(table["name"], table["file"], table["line"], strict=True):
            if name in names and file and line:
                found.setdefault(name, (file, line))
    return found


class _History:
    def __init__(self, compared: Compared, declared: Mapping[str, tuple[str, int]]) -> None:
        self._compared, self._declared = compared, declared
        self._repository = compared.repository
        self._range = compared.good.commit, compared.bad.commit

    def asked(self, suspect: Suspect) -> Suspect:
        own = self._compared.in_repository(suspect.file)
        if suspect.change is not None and own:
            return replace(suspect, commits=self._commits(suspect.function, own, suspect.change))
        near = [line for line in (suspect.decided_by, suspect.line) if line]
        if (change := self._changed(suspect.function, near)) is not None:
            return replace(suspect, change=change, commits=self._commits(suspect.function, own, change))
        # Not changed itself: the nearest caller that was may be why it is called differently.
        for caller in reversed([name for name in suspect.path if name != suspect.function]):
            if (change := self._changed(caller, [])) is not None:
                file = self._compared.in_repository(self._declared[caller][0])
                return replace(suspect, commits=self._commits(caller, file, change))
        return suspect

    def _changed(self, function: str, near: Sequence[int]) -> SourceChange | None:
        """How a function of the bad revision differs from the good one's."""
        path, declared = self._declared.get(function, ("", 0))
        file = self._compared.in_repository(path)
        if not file:
            return None
        try:
            source = ask(self._repository.top, "show", "--no-textconv", f"{self._range[1]}:{file}").split("\n")
            text = function_text(dict(enumerate(source, start=1)), declared, self._others(path, declared))
            hunks = hunks_of(self._repository, *self._range, file)
        except GitError:  # made by the build: git does not know it
            return None
        if not text.lines:
            return None
        touched = [hunk for hunk in hunks if hunk.touches(declared, text.lines[-1].number)]
        return as_change(touched, near or [declared]) if touched else None

    def _others(self, path: str, declared: int) -> set[int]:
        return {line for file, line in self._declared.values() if file == path and line != declared}

    def _commits(self, function: str, file: str, change: SourceChange) -> tuple[ChangedBy, ...]:
        added, removed = (
            [line.line for hunk in change.hunks for line in hunk if line.build == build] for build in ("bad", "good")
        )
        by_added = added_by(self._repository, *self._range, file, added)
        by_removed = removed_by(self._repository, *self._range, file, removed)
        commits = sorted(
            dict.fromkeys((*by_added, *by_removed)),
            key=lambda one: -len(by_added.get(one, ())) - len(by_removed.get(one, ())),
        )
        return tuple(
            self._changed_by(one, function, file, by_added.get(one, ()), by_removed.get(one, ()))
            for one in commits[:_MOST_COMMITS]
        )

    def _changed_by(
        self, commit: str, function: str, file: str, added: Iterable[int], removed: Iterable[int]
    ) -> ChangedBy:
        found = commit_of(self._repository, commit)
        return ChangedBy(
            found.commit, found.author, found.date, found.subject, function, file, tuple(added), tuple(removed)
        )
