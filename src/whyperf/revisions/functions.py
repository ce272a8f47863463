"""Where functions are in a revision's source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from whyperf.engines.function_text import function_text
from whyperf.engines.recording_protocol import Recorded
from whyperf.revisions.git import GitError, Repository, ask


@dataclass(frozen=True)
class RevisionDeclaration:
    file: str  # as the build recorded it
    line: int


@dataclass(frozen=True)
class Extent:
    """A function's lines in a file of the repository."""

    file: str
    first: int
    last: int


def declarations(
    recordings: Sequence[Recorded], names: Collection[str] | None = None
) -> dict[str, RevisionDeclaration]:
    """Of these functions, or of all, as far as the recordings know them."""
    found: dict[str, RevisionDeclaration] = {}
    for recording in recordings:
        table = recording.table("functions").select(["name", "file", "line"]).to_pydict()
        for name, file, line in zip(table["name"], table["file"], table["line"], strict=True):
            if (names is None or name in names) and file and line:
                found.setdefault(name, RevisionDeclaration(file, line))
    return found


def extent_of(repository: Repository, commit: str, file: str, declared: int, others: set[int]) -> Extent | None:
    """From its declaration to its end. None for a file that git does not know: the build made it."""
    try:
        source = ask(repository.top, "show", "--no-textconv", f"{commit}:{file}").split("\n")
    except GitError:
        return None
    text = function_text(dict(enumerate(source, start=1)), declared, others)
    return Extent(file, declared, text.lines[-1].number) if text.lines else None
