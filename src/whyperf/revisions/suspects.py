"""What git knows of a verdict between two revisions: the lines that changed, and the commits that changed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.diagnose.verdict import AbnormalVariable, ChangedBy, Revision, Suspect, Verdict
from whyperf.engines.finding import SourceChange
from whyperf.engines.recording_protocol import Recorded
from whyperf.revisions.checkout import Built
from whyperf.revisions.functions import Extent, RevisionDeclaration, declarations, extent_of
from whyperf.revisions.git import Repository, commit_of
from whyperf.revisions.hunks import as_change, hunks_of
from whyperf.revisions.line_commits import added_by, removed_by

_ASKED = 5  # suspects whose history is looked up
_MOST_COMMITS = 5  # of each


@dataclass(frozen=True)
class ComparedCommits:
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


def with_history(verdict: Verdict, compared: ComparedCommits, bad: Sequence[Recorded]) -> Verdict:
    """The verdict with both commits and, for each suspect, who changed it. `bad` says where functions are declared."""
    history = CommitHistory(compared, declarations(bad, names_in(verdict)))
    suspects = tuple(
        history.asked(suspect) if number < _ASKED else suspect for number, suspect in enumerate(verdict.suspects)
    )
    sides = zip(compared.names, (compared.good, compared.bad), strict=True)
    good, bad_ = (_revision(compared.repository, name, built.commit) for name, built in sides)
    return replace(verdict, suspects=suspects, revisions=(good, bad_))


def with_short_paths(verdict: Verdict, compared: ComparedCommits) -> Verdict:
    """Files of the checkouts by their names in the repository: nobody wants to read where the cache is."""

    def short(file: str) -> str:
        return compared.in_repository(file) or file

    def variable(one: AbnormalVariable) -> AbnormalVariable:
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


def names_in(verdict: Verdict) -> set[str]:
    """The first suspects and who calls them."""
    return {name for suspect in verdict.suspects[:_ASKED] for name in (suspect.function, *suspect.path)}


class CommitHistory:
    """What happened to functions between the two revisions."""

    def __init__(self, compared: ComparedCommits, declared: Mapping[str, RevisionDeclaration]) -> None:
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
                file = self._compared.in_repository(self._declared[caller].file)
                return replace(suspect, commits=self._commits(caller, file, change))
        return suspect

    def _changed(self, function: str, near: Sequence[int]) -> SourceChange | None:
        """How a function of the bad revision differs from the good one's."""
        if (extent := self.extent(function)) is None:
            return None
        hunks = hunks_of(self._repository, *self._range, extent.file)
        lines = extent.first, extent.last
        touched = [hunk.within(*lines) for hunk in hunks if hunk.touches(*lines)]
        return as_change(touched, near or [extent.first]) if touched else None

    def extent(self, function: str) -> Extent | None:
        """Its lines in the bad revision."""
        declared = self._declared.get(function)
        file = self._compared.in_repository(declared.file) if declared else ""
        if declared is None or not file:
            return None
        others = {one.line for one in self._declared.values() if one.file == declared.file} - {declared.line}
        return extent_of(self._repository, self._range[1], file, declared.line, others)

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
