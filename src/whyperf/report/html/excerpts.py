"""Source excerpts around the lines that matter, from what the recordings stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyperf.engines.run import Run, source_lines
from whyperf.report.html.model import Excerpt, SourceLine

_MOST_LINES = 60
_LEAST_SHARE = 0.005  # of a line that is looked for


def excerpt(
    runs: Sequence[Run], file: str, shares: Mapping[int, float], around: int, decided_by: int = 0
) -> Excerpt | None:
    """The lines with a share, most first until there is no more room, and so many around each; with the line that
    decides about the first. None without source."""
    text = source_lines(runs, file)
    wanted: set[int] = set()
    telling = [line for line, share in shares.items() if share >= _LEAST_SHARE]
    for line in sorted(telling, key=lambda one: -shares[one]):
        more = wanted | {near for near in range(line - around, line + around + 1) if near in text}
        if wanted and len(more) > _MOST_LINES:
            break
        wanted = more
    if not wanted:
        return None
    wanted |= {decided_by} & text.keys()
    lines = _without_blank_ends(sorted(wanted), text)
    return Excerpt(
        file, tuple(SourceLine(line, text[line], shares.get(line, 0.0), line == decided_by) for line in lines)
    )


def _without_blank_ends(lines: list[int], text: Mapping[int, str]) -> list[int]:
    full = [at for at, line in enumerate(lines) if text[line].strip()]
    return lines[full[0] : full[-1] + 1] if full else lines
