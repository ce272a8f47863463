"""Trials by hunk: one change of the source is taken back in a checkout of its own, built and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import Program
from whyperf.comparison.progress import Steps
from whyperf.diagnose.origin import Proof, ProofMeans
from whyperf.diagnose.verdict import Suspect
from whyperf.errors import WhyperfError
from whyperf.proof.by_function import wanted_names
from whyperf.proof.rounds import NotPutError, ProofSide, Put, Trying
from whyperf.proof.search import Search
from whyperf.proof.sentences import ProofClaim
from whyperf.proof.trial import TrialKind
from whyperf.revisions.checkout import Built, Variant, built
from whyperf.revisions.command import program_in
from whyperf.revisions.edits import made, taken_back
from whyperf.revisions.functions import Extent, RevisionDeclaration
from whyperf.revisions.git import ask
from whyperf.revisions.hunks import GitHunk, hunks_of
from whyperf.revisions.suspects import CommitHistory, ComparedCommits

_MOST_HUNKS = 64
_MOST_ON_PATHS = 4  # functions: each is a build


@dataclass(frozen=True)
class Building:
    """How revisions are built and run."""

    build: str | None
    words: tuple[str, ...]
    lifecycles: tuple[Lifecycle, Lifecycle]  # good, bad
    environment: Mapping[str, str]
    shown: Steps | None = None
    counted_calls: tuple[str, str] = ("", "")  # of which the units of work are; good, bad


@dataclass(frozen=True)
class _Change:
    """Hunks of one function or, of what is in none, a single one."""

    file: str
    hunks: tuple[GitHunk, ...]
    function: str = ""

    @property
    def line(self) -> int:
        return self.hunks[0].bad_line

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def prove_by_hunks(
    compared: ComparedCommits,
    suspects: Sequence[Suspect],
    declared: Mapping[str, RevisionDeclaration],
    building: Building,
    trying: Trying = Trying(),  # noqa: B008 (frozen)
) -> tuple[Proof, ...]:
    """Empty where no part of the difference explains the excess, or parts of it do not build. `declared`: where
    functions of the bad revision are."""
    trial = _Trial(compared, building)
    search = Search(trial.side(compared.good), trial.side(compared.bad), trying, trial.put)
    changes = _changes(compared, wanted_names(suspects), declared)
    found = search.found([one for one in changes if one.function][:_MOST_ON_PATHS], lambda: changes)
    if not found:
        return ()
    return (search.proof(_claim(found, compared, declared, Path(building.words[0]).name), found),)


class _Trial:
    def __init__(self, compared: ComparedCommits, building: Building) -> None:
        self._compared, self._building = compared, building
        self._kept: dict[tuple[str, Variant], Built] = {}  # their folders are not removed meanwhile

    def side(self, one: Built) -> ProofSide:
        building = self._building
        side = one is self._compared.bad
        program = program_in(one, building.words, building.environment)
        return ProofSide(program, building.lifecycles[side], building.environment, building.counted_calls[side])

    def put(self, kind: TrialKind, changes: Sequence[_Change]) -> Put:
        bad, good = self._compared.bad, self._compared.good
        if kind is TrialKind.FORCED:
            edits = tuple(taken_back(one.file, hunk) for one in changes for hunk in one.hunks)
            return Put(program=self._built(bad, Variant("without a change", edits)))
        if kind is TrialKind.SHAM:
            return Put(program=self._built(bad, Variant("again")))
        if kind is TrialKind.REVERSE:
            edits = tuple(made(one.file, hunk) for one in changes for hunk in one.hunks)
            try:
                return Put(program=self._built(good, Variant("with a change", edits)))
            except NotPutError:
                return Put(is_possible=False)
        return Put()

    def _built(self, one: Built, variant: Variant) -> Program:
        building, key = self._building, (one.commit, variant)
        cache = one.top.parent.parent
        try:
            if key not in self._kept:
                self._kept[key] = built(
                    self._compared.repository,
                    one.commit,
                    building.build,
                    cache=cache,
                    shown=building.shown,
                    variant=variant,
                )
            return program_in(self._kept[key], building.words, building.environment)
        except WhyperfError as error:
            raise NotPutError(error.sentence) from None


def _changes(
    compared: ComparedCommits, names: Sequence[str], declared: Mapping[str, RevisionDeclaration]
) -> list[_Change]:
    """Those in functions that suspects ask for first, each as a whole; then the others, file by file."""
    history = CommitHistory(compared, declared)
    extents = {name: extent for name in names if (extent := history.extent(name)) is not None}
    left = _hunks(compared)
    found = []
    for name, extent in extents.items():
        own = tuple(pair for pair in left if _is_in(pair, extent))
        if own:
            found.append(_Change(extent.file, tuple(hunk for _, hunk in own), name))
            left = [pair for pair in left if pair not in own]
    return found + [_Change(file, (hunk,)) for file, hunk in left]


def _function_at(compared: ComparedCommits, declared: Mapping[str, RevisionDeclaration], file: str, line: int) -> str:
    """The one that is declared last before; empty: none is."""
    before = [
        (one.line, name)
        for name, one in declared.items()
        if one.line <= line and compared.in_repository(one.file) == file
    ]
    return max(before, default=(0, ""))[1]


def _is_in(pair: tuple[str, GitHunk], extent: Extent) -> bool:
    return pair[0] == extent.file and pair[1].touches(extent.first, extent.last)


def _hunks(compared: ComparedCommits) -> list[tuple[str, GitHunk]]:
    good, bad = compared.good.commit, compared.bad.commit
    listed = ask(compared.repository.top, "diff", "--name-only", "-z", "--no-renames", "--diff-filter=M", good, bad)
    files = [file for file in listed.split("\0") if file]
    pairs = [(file, hunk) for file in files for hunk in hunks_of(compared.repository, good, bad, file)]
    return pairs[:_MOST_HUNKS]


def _claim(
    changes: Sequence[_Change], compared: ComparedCommits, declared: Mapping[str, RevisionDeclaration], module: str
) -> ProofClaim:
    first = changes[0]
    places = ", ".join(one.place for one in changes)
    function = first.function or _function_at(compared, declared, first.file, first.line)
    file = str(compared.bad.top / first.file)
    return ProofClaim(function, module, file, first.line, places, "", "", means=ProofMeans.HUNK)
