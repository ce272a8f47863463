"""What exact call counts say, as lines of the terminal report."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.text import Text

from whyperf.diagnose.verdict import CallCounts
from whyperf.engines.quantities import percent
from whyperf.report.printable import printable

_SHOWN = 5
_SMALLEST = 0.05  # share of the excess; smaller ones are in the JSON
_LEFT = 9


def counted_calls(counts: CallCounts, width: int) -> Iterator[Text]:
    rows = [change for change in counts.changes if abs(change.share) >= _SMALLEST]
    shown = sorted(rows, key=lambda change: -abs(change.share))[:_SHOWN]
    if not shown:
        return
    yield Text()
    yield Text("By exact call counts", "bold").append(
        f" ({counts.runs[0]} good, {counts.runs[1]} bad counting runs)", "dim"
    )
    for change in sorted(shown, key=lambda change: -change.share):
        where = f" (line {change.line})" if change.line else ""
        lines = wrap(printable(change.sentence) + where, max(20, width - _LEFT))
        yield Text(f"  {_signed(change.share):>5}  ").append(lines[0])
        for line in lines[1:]:
            yield Text(" " * _LEFT + line)
    left = len(counts.changes) + counts.more - len(shown)
    if left:
        rest = 1 - sum(change.share for change in shown)
        yield Text(f"  {_signed(rest):>5}  {left} smaller {'changes' if left > 1 else 'change'} together", "dim")


def _signed(share: float) -> str:
    return f"-{percent(-share)}" if share < 0 else percent(share)
