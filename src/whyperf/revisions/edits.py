"""Changes to a checkout before it is built: single hunks of the difference between two revisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.revisions.hunks import GitHunk


@dataclass(frozen=True, order=True)
class Edit:
    """Lines of a file that others take the place of."""

    file: str  # in the repository
    line: int  # the first of them; of none, the line before
    removed: int
    text: tuple[str, ...]

    @property
    def start(self) -> int:
        """How many lines come before."""
        return self.line - 1 if self.removed else self.line


def taken_back(file: str, hunk: GitHunk) -> Edit:
    """In the bad revision."""
    return Edit(file, hunk.bad_line, len(hunk.bad), hunk.good)


def made(file: str, hunk: GitHunk) -> Edit:
    """In the good revision."""
    return Edit(file, hunk.good_line, len(hunk.good), hunk.bad)


def apply(tree: Path, edits: Iterable[Edit]) -> None:
    """In a checkout of our own."""
    by_file: defaultdict[str, list[Edit]] = defaultdict(list)
    for edit in edits:
        by_file[edit.file].append(edit)
    for file, wanted in by_file.items():
        path = tree / file
        content = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
        changed = edited(content, wanted)
        path.parent.mkdir(parents=True, exist_ok=True)
        if changed or content:
            path.write_bytes(changed.encode(errors="surrogateescape"))


def edited(content: str, edits: Sequence[Edit]) -> str:
    lines = content.split("\n")
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        lines[edit.start : edit.start + edit.removed] = edit.text
    return "\n".join(lines)
