"""Which commits were compared, and which of those between them changed a suspect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from whyperf.diagnose.verdict import Suspect, Verdict
from whyperf.report.glyphs import Glyphs
from whyperf.report.printable import printable
from whyperf.report.shorten import cut

_INDENT = "     "
_HASH = 10  # digits


def revisions(verdict: Verdict, width: int, glyphs: Glyphs) -> Iterator[Text]:
    for side, one in zip(("good", "bad"), verdict.revisions or (), strict=False):
        row = Text(f"  {side:4} ", "dim").append(one.commit[:_HASH], "yellow")
        called = "" if one.commit.startswith(one.revision) else f" ({printable(one.revision)})"
        yield row.append(cut(f"{called} {printable(one.subject)}", width - len(row), glyphs.dots))


def commits(suspect: Suspect, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """As `git log` prints them, with the lines that are theirs."""
    for one in suspect.commits:
        yield Text()
        what = (
            "Changed by" if one.function == suspect.function else f"Its caller {printable(one.function)} was changed by"
        )
        yield Text(f"{_INDENT}{what} commit ", "dim").append(one.commit[:_HASH], "yellow")
        yield Text(cut(f"{_INDENT}Author: {printable(one.author)}", width, glyphs.dots))
        yield Text(cut(f"{_INDENT}Date:   {printable(one.date)}", width, glyphs.dots))
        yield Text(cut(f"{_INDENT}    {printable(one.subject)}", width, glyphs.dots), "bold")
        parts = [f"{sign} {_listed(lines)}" for sign, lines in (("-", one.removed), ("+", one.added)) if lines]
        yield Text(cut(f"{_INDENT}    {printable(one.file)}: {', '.join(parts)}", width, glyphs.dots), "dim")


def _listed(lines: Sequence[int]) -> str:
    first, last = min(lines), max(lines)
    return f"line {first}" if first == last else f"lines {first} to {last}"
