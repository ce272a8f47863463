"""What differs in a suspect's source between two builds, as diffs are shown."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from whyperf.engines.finding import SourceChange
from whyperf.report.glyphs import Glyphs
from whyperf.report.printable import printable
from whyperf.report.shorten import cut, indentation

_INDENT = "     "
_SIGNS = {"good": ("-", "green"), "bad": ("+", "red"), "both": (" ", "default")}


def changed_lines(change: SourceChange, width: int, glyphs: Glyphs) -> Iterator[Text]:
    lines = [line for hunk in change.hunks for line in hunk]
    if not lines:
        return
    digits = len(str(max(line.line for line in lines)))
    common = min(indentation(printable(line.text)) for line in lines)
    yield Text()
    yield Text(cut(f"{_INDENT}What differs in its source: - good build, + bad build", width, glyphs.dots), "dim")
    for number, hunk in enumerate(change.hunks):
        if number:
            yield Text(f"{_INDENT}  {glyphs.dots:>{digits}}", "dim")
        for line in hunk:
            sign, style = _SIGNS[line.build]
            row = Text(f"{_INDENT}{sign} ", style).append(f"{line.line:>{digits}} {glyphs.rule}", "dim")
            code = printable(line.text.rstrip())[common:]
            yield row.append(cut(f" {code}", width - len(row), glyphs.dots), style)
    if change.more:
        yield Text(f"{_INDENT}  {glyphs.dots} {_more(change.more)}", "dim")


def _more(count: int) -> str:
    return f"{count:,} more lines differ" if count > 1 else "1 more line differs"
