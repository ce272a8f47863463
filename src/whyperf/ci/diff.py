"""A suspect's changed lines as a diff, with the lines around them as far as the recordings hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whyperf.engines.finding import ChangedLine, HotLine, SourceChange

_SIGNS = {"good": "-", "bad": "+", "both": " "}
_CONTEXT = 3  # lines, as git has it


def diff_lines(change: SourceChange, around: Sequence[HotLine]) -> list[str]:
    """`around`: lines of the head."""
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
