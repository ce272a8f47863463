"""Which lines of a file differ between two revisions, as git tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whyperf.engines.finding import ChangedLine, SourceChange
from whyperf.revisions.git import Repository, ask

_HEADER = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MOST_LINES = 8  # shown


@dataclass(frozen=True)
class GitHunk:
    """Lines that only one of the revisions has, in one place."""

    good_line: int  # the first of them; of none, the line before
    bad_line: int
    good: tuple[str, ...]
    bad: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.good) + len(self.bad)

    def touches(self, first: int, last: int) -> bool:
        """Whether it lies within these lines of the bad revision; lines that are gone were between two of them."""
        if self.bad:
            return self.bad_line <= last and self.bad_line + len(self.bad) - 1 >= first
        return first <= self.bad_line < last

    def within(self, first: int, last: int) -> GitHunk:
        """Without what it adds beyond these lines, as a whole new file does."""
        before = max(first - self.bad_line, 0)
        return GitHunk(self.good_line, self.bad_line + before, self.good, self.bad[before : last - self.bad_line + 1])

    def distance(self, lines: Sequence[int]) -> int:
        end = self.bad_line + max(len(self.bad) - 1, 0)
        return min((max(self.bad_line - line, line - end, 0) for line in lines), default=0)


def hunks_of(repository: Repository, good: str, bad: str, file: str) -> list[GitHunk]:
    """White space is no difference."""
    printed = ask(
        repository.top, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--unified=0", "--inter-hunk-context=0",
        "--ignore-all-space", good, bad, "--", file,
    )  # fmt: skip
    return list(parse(printed.split("\n")))


def parse(lines: Sequence[str]) -> Iterator[GitHunk]:
    """Hunks of a diff without context."""
    at = 0
    while at < len(lines):
        header = _HEADER.match(lines[at])
        at += 1
        if header is None:
            continue
        first, new_first = int(header[1]), int(header[3])
        old, new = (1 if count is None else int(count) for count in (header[2], header[4]))
        gone, come = list[str](), list[str]()
        while at < len(lines) and (len(gone) < old or len(come) < new):
            if lines[at].startswith("-"):
                gone.append(lines[at][1:])
            elif lines[at].startswith("+"):
                come.append(lines[at][1:])
            at += 1
        yield GitHunk(first, new_first, tuple(gone), tuple(come))


def as_change(hunks: Sequence[GitHunk], near: Sequence[int]) -> SourceChange:
    """So many lines of the hunks nearest to these of the bad revision."""
    chosen, room = list[GitHunk](), _MOST_LINES
    for hunk in sorted(hunks, key=lambda one: one.distance(near)):
        if chosen and hunk.size > room:
            break
        chosen.append(_cut(hunk, near, room))
        room -= chosen[-1].size
    shown = [tuple(_lines(hunk)) for hunk in sorted(chosen, key=lambda one: one.bad_line)]
    return SourceChange(tuple(shown), sum(hunk.size for hunk in hunks) - sum(map(len, shown)))


def _cut(hunk: GitHunk, near: Sequence[int], room: int) -> GitHunk:
    """In equal parts of both revisions where both have more; of the bad one what is nearest."""
    if hunk.size <= room:
        return hunk
    good = min(len(hunk.good), max(room // 2, room - len(hunk.bad)))
    bad = room - good
    middle = min(near, default=hunk.bad_line, key=lambda line: hunk.distance([line])) - hunk.bad_line
    start = max(min(middle - bad // 2, len(hunk.bad) - bad), 0)
    return GitHunk(hunk.good_line, hunk.bad_line + start, hunk.good[:good], hunk.bad[start : start + bad])


def _lines(hunk: GitHunk) -> list[ChangedLine]:
    good = [ChangedLine("good", number, text) for number, text in enumerate(hunk.good, hunk.good_line)]
    return good + [ChangedLine("bad", number, text) for number, text in enumerate(hunk.bad, hunk.bad_line)]
