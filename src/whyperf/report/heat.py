"""Slow contexts as a heat map: a row a context, a cell a function on its path (IntroPerf's Figure 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10

from rich.text import Text

from whyperf.diagnose.verdict import ContextRanking, ContextStep, SlowContext
from whyperf.engines.quantities import percent, seconds
from whyperf.report.glyphs import Glyphs
from whyperf.report.printable import printable
from whyperf.report.shorten import short_name
from whyperf.report.traced_path import without_tracing

_DECADES = 3  # between the hottest cell and the coldest that is not empty
_STYLES = ("dim", "blue", "cyan", "yellow", "bold red")
_NEIGHBOURS = 2  # named on each side of the hot function
_SHORTEST_NAME = 8


def heat_map(ranking: ContextRanking, width: int, top: int, glyphs: Glyphs) -> Iterator[Text]:
    rows = [without_tracing(row) for row in ranking.contexts[:top]]
    if not rows:
        return
    amounts = [_amount(row, ranking.unit) for row in rows]
    amount_width = max(len("added"), *(len(amount) for amount in amounts))
    left = f"{'#':>3}  {'added':>{amount_width}}  share  "
    cells = min(max(len(row.steps) for row in rows), (width - len(left)) * 2 // 5)
    hottest = max((step.added for row in rows for step in row.steps), default=0.0)
    per = "share of the time" if ranking.unit == "share" else f"time per {ranking.unit}"
    yield Text()
    yield Text(f"Contexts by added {per}", "bold")
    head = f"{left}{'path':{cells}}  hot function and its neighbours"
    yield Text(head[:width].rstrip(), "dim")
    for row, amount in zip(rows, amounts, strict=True):
        line = Text().append(f"{row.rank:>3}  ", "bold").append(f"{amount:>{amount_width}}  ")
        line.append(f"{percent(row.share):>5}  ")
        drawn = _cells(row, cells, hottest, glyphs)
        line.append_text(drawn).append(" " * (cells - len(drawn) + 2))
        yield line.append_text(_names(row, width - len(line), glyphs))


def _amount(row: SlowContext, unit: str) -> str:
    gain = row.bad - row.good
    return percent(gain) if unit == "share" else seconds(gain)


def _cells(row: SlowContext, room: int, hottest: float, glyphs: Glyphs) -> Text:
    """Outermost first; of longer paths the part around the hot function, which is near the end."""
    first = max(0, min(len(row.steps) - room, row.hot - room // 2))
    text = Text()
    for step in row.steps[first : first + room]:
        level = _level(step.added, hottest, len(glyphs.heat))
        text.append(glyphs.heat[level], _STYLES[round(level * (len(_STYLES) - 1) / (len(glyphs.heat) - 1))])
    if first:
        text = Text(glyphs.heat_cut, "dim").append_text(text[len(glyphs.heat_cut) :])
    if first + room < len(row.steps):
        text = text[: room - len(glyphs.heat_cut)].append(glyphs.heat_cut, "dim")
    return text


def _level(added: float, hottest: float, levels: int) -> int:
    """Logarithmic; something is never shown as nothing."""
    if added <= 0 or hottest <= 0:
        return 0
    part = 1 + log10(added / hottest) / _DECADES
    return max(1, min(levels - 1, round(part * (levels - 1))))


def _names(row: SlowContext, room: int, glyphs: Glyphs) -> Text:
    """As many neighbours as there is room for, the nearest first, callers before callees."""
    chosen = [row.hot]
    for distance in range(1, _NEIGHBOURS + 1):
        for at in (row.hot - distance, row.hot + distance):
            wider = sorted([*chosen, at])
            if (
                0 <= at < len(row.steps)
                and wider == list(range(wider[0], wider[-1] + 1))
                and _fits(row, wider, room, glyphs)
            ):
                chosen = wider
    hot = _name(row.steps[row.hot], glyphs, _room_for_hot(row, chosen, room, glyphs))
    text = Text()
    for at in chosen:
        if text:
            text.append(glyphs.arrow, "dim")
        if at == row.hot:
            text.append(f"[{hot}]", "bold")
        else:
            text.append(_name(row.steps[at], glyphs, room), "dim")
    return text


def _fits(row: SlowContext, chosen: Sequence[int], room: int, glyphs: Glyphs) -> bool:
    hot_width = len(_name(row.steps[row.hot], glyphs, room))
    return _room_for_hot(row, chosen, room, glyphs) >= hot_width


def _room_for_hot(row: SlowContext, chosen: Sequence[int], room: int, glyphs: Glyphs) -> int:
    others = sum(len(_name(row.steps[at], glyphs, room)) for at in chosen if at != row.hot)
    return room - others - len(glyphs.arrow) * (len(chosen) - 1) - len("[]")


def _name(step: ContextStep, glyphs: Glyphs, room: int) -> str:
    return short_name(printable(step.function), max(_SHORTEST_NAME, room), glyphs.dots)
