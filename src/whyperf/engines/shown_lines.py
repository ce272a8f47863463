"""Which lines of the source are shown with a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyperf.engines.finding import HotLine
from whyperf.engines.run import Run, source_lines

_CONTEXT_LINES = 3  # on each side of the hottest
_HOT_LINE_SHARE = 0.05  # of what is shared out


def lines_around(runs: Sequence[Run], file: str, line: int, share: Mapping[int, float]) -> tuple[HotLine, ...]:
    """The stored source around a line, and other lines of the file with a good part of what is shared out."""
    around = range(line - _CONTEXT_LINES, line + _CONTEXT_LINES + 1)
    hot = {number for number, part in share.items() if part >= _HOT_LINE_SHARE}
    text = source_lines(runs, file)
    wanted = sorted({number for number in around if number in text} | hot)
    return tuple(HotLine(number, share.get(number, 0.0), text.get(number, "")) for number in wanted)
