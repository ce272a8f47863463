"""The causal path of a stall as a ladder: from the thread that stalled up to the one that should have acted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from whyperf.engines.causes.detail import CausesDetail
from whyperf.engines.finding import Detail
from whyperf.engines.quantities import seconds
from whyperf.report.glyphs import Glyphs
from whyperf.report.printable import printable
from whyperf.report.shorten import cut
from whyperf.report.waiting_threads import name_of, rungs_of

_INDENT = "     "
_FRAMES = 6  # of the culprit's stack
_LINK_STYLES = {"strong": "green", "weak": "yellow", "inferred": "cyan", "guess": "dim"}


def ladder(detail: Detail, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Nothing for findings without one."""
    if not isinstance(detail, CausesDetail) or not detail.ladder:
        return
    rungs = rungs_of(detail)
    names = [printable(name_of(rung)) for rung in rungs]
    name_width = min(max(len(name) for name in names), width // 3)
    yield Text()
    yield Text(f"{_INDENT}  at (s)  {'who':{name_width}}      for  did", "dim")
    for rung, name in zip(rungs, names, strict=True):
        row = Text(f"{_INDENT}{rung.start_s:8.3f}  ", "dim")
        row.append(f"{cut(name, name_width, glyphs.dots):{name_width}}", "bold")
        row.append(f"  {seconds(rung.seconds):>7}  ")
        room = max(20, width - len(row))
        yield row.append(cut(printable(rung.did), room, glyphs.dots))
        if (link := rung.link) is not None:
            said = f"{link.mechanism} ({link.certainty}): {link.why}"
            before = f"{_INDENT}{'':8}  {glyphs.rule} "
            style = _LINK_STYLES.get(link.certainty, "default")
            yield Text(before, "dim").append(cut(printable(said), width - len(before), glyphs.dots), style)
    yield from _stack(detail.stack, width, glyphs)


def _stack(frames: Sequence[str], width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Where the culprit was, innermost first."""
    for number, frame in enumerate(frames[:_FRAMES]):
        start = f"{_INDENT}{'at' if number == 0 else '  '} "
        yield Text(start, "dim").append(cut(printable(frame), width - len(start), glyphs.dots))
    if len(frames) > _FRAMES:
        yield Text(f"{_INDENT}   {glyphs.dots} {len(frames) - _FRAMES} more", "dim")
