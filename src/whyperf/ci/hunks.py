"""The part of a change that lies nearest to a suspect."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_NEAR = 40  # lines: most functions are shorter, and a change further away is rarely the cause
_SHOWN = 30  # lines


@dataclass(frozen=True)
class Hunk:
    header: str
    lines: tuple[str, ...]  # with their sign
    first: int  # line in the head
    count: int
    heading: str  # the function that git takes it to be in
    more: int = 0  # lines that are not shown


def parse_hunks(diff: str) -> list[Hunk]:
    """Of one file's unified diff."""
    found: list[Hunk] = []
    lines: list[str] = []
    header: re.Match[str] | None = None
    old_left = new_left = 0
    for line in diff.split("\n"):
        if header is not None and (old_left > 0 or new_left > 0 or line.startswith("\\")):
            lines.append(line)
            old_left -= line[:1] in ("-", " ", "")
            new_left -= line[:1] in ("+", " ", "")
            continue
        if (match := _HEADER.fullmatch(line)) is not None:
            if header is not None:
                found.append(_hunk(header, lines))
            header, lines = match, []
            old_left, new_left = int(match[2] or 1), int(match[4] or 1)
    if header is not None:
        found.append(_hunk(header, lines))
    return found


def nearest(hunks: Iterable[Hunk], lines: Collection[int], function: str) -> Hunk | None:
    """The hunk that is at these lines of the head, or not far; or that git says to be in this function."""
    name = function.partition("(")[0].rpartition("::")[2]
    ranked = [
        (distance, hunk)
        for hunk in hunks
        if (distance := _distance(hunk, lines)) <= _NEAR or (name and re.search(rf"\b{re.escape(name)}\b", hunk.heading))
    ]
    return min(ranked, key=lambda one: one[0])[1] if ranked else None


def shortened(hunk: Hunk, shown: int = _SHOWN) -> Hunk:
    """So that it fits a comment: the changed lines matter most."""
    if len(hunk.lines) <= shown:
        return hunk
    changed = next((number for number, line in enumerate(hunk.lines) if line[:1] in ("+", "-")), 0)
    begin = max(0, min(changed - 3, len(hunk.lines) - shown))
    kept = hunk.lines[begin : begin + shown]
    return Hunk(hunk.header, kept, hunk.first, hunk.count, hunk.heading, len(hunk.lines) - len(kept))


def _distance(hunk: Hunk, lines: Collection[int]) -> float:
    last = hunk.first + max(hunk.count, 1) - 1
    return min((max(hunk.first - line, line - last, 0) for line in lines if line > 0), default=float("inf"))


def _hunk(header: re.Match[str], lines: Sequence[str]) -> Hunk:
    return Hunk(header[0], tuple(lines), int(header[3]), int(header[4] or 1), header[5])
