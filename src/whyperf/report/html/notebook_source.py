"""Source for notebooks: with the weight of each line beside it, or with what differs between two builds."""

from __future__ import annotations

import html
from collections.abc import Sequence

from whyperf.engines.finding import ChangedLine, SourceChange
from whyperf.engines.quantities import percent
from whyperf.report.html.coloured import Span, coloured
from whyperf.report.html.fragments import BAD, GOOD, LONGEST, QUIET, RAISED, RULE, code, styled
from whyperf.report.html.model import Excerpt, SourceLine
from whyperf.report.printable import printable

_LINES = 20
_AROUND = 3
_LEAST_SHARE = 0.005
_LINE = "display:flex;padding:0 0.8em 0 0.6em;font-family:monospace;line-height:1.5"
_NUMBER = "white-space:pre;opacity:0.6;padding-right:1.2em"


def source(excerpt: Excerpt) -> str:
    lines = _hottest(excerpt.lines)
    common = min((len(one.text) - len(one.text.lstrip()) for one in lines if one.text.strip()), default=0)
    texts = [printable(one.text[common:].rstrip()[:LONGEST]) for one in lines]
    title = styled(
        "div",
        f"display:flex;justify-content:space-between;gap:1.5em;padding:0.2em 0.8em;border-bottom:1px solid {RULE}",
        styled("span", f"overflow-wrap:anywhere;{QUIET}", code(excerpt.file)),
        styled("span", QUIET, "share of the added cost"),
    )
    width, before, rows = len(str(lines[-1].number)), lines[0].number - 1, list[str]()
    for line, spans in zip(lines, coloured(texts, excerpt.file), strict=True):
        if line.number != before + 1:
            rows.append(styled("div", f"border-top:1px dashed {RULE};margin:0.25em 0"))
        before = line.number
        rows.append(_row(line, spans, width))
    return _framed(title, rows)


def differences(change: SourceChange, file: str) -> str:
    """What differs in a function's source between two builds."""
    lines = [line for hunk in change.hunks for line in hunk][:_LINES]
    left_out = sum(len(hunk) for hunk in change.hunks) - len(lines) + change.more
    title = styled(
        "div",
        f"padding:0.2em 0.8em;border-bottom:1px solid {RULE}",
        "What differs in its source: ",
        styled("span", f"color:{GOOD}", "- good build only"),
        " ",
        styled("span", f"color:{BAD}", "+ bad build only"),
    )
    width = max((len(str(line.line)) for line in lines), default=0)
    texts = [printable(line.text.rstrip()[:LONGEST]) for line in lines]
    rows = [_changed(line, spans, width) for line, spans in zip(lines, coloured(texts, file), strict=True)]
    rows += [styled("div", f"padding:0 0.8em;{QUIET}", f"and {left_out} more")] if left_out else []
    return _framed(title, rows)


def _framed(title: str, rows: Sequence[str]) -> str:
    wide = styled("div", "display:inline-block;min-width:100%", *rows)
    body = styled("div", "overflow-x:auto;padding:0.3em 0", wide)
    return styled("div", f"border:1px solid {RULE};background:{RAISED};font-size:0.93em;margin:0.5em 0", title, body)


def _changed(line: ChangedLine, spans: Sequence[Span], width: int) -> str:
    sign, colour = {"good": ("-", GOOD), "bad": ("+", BAD)}.get(line.build, (" ", "transparent"))
    ground = {"good": "background:rgba(56,125,181,0.14);", "bad": "background:rgba(210,80,27,0.14);"}.get(
        line.build, ""
    )
    return styled(
        "div",
        f"{ground}border-left:3px solid {colour};{_LINE}",
        styled("span", _NUMBER, f"{line.line:>{width}}"),
        styled("span", f"white-space:pre;color:{colour}", f"{sign} "),
        styled("span", "white-space:pre;flex:1", _text(spans)),
    )


def _row(line: SourceLine, spans: Sequence[Span], width: int) -> str:
    hot = line.share >= _LEAST_SHARE
    ground = f"background:rgba(210,80,27,{0.08 + 0.22 * min(line.share, 1.0):.2f});" if hot else ""
    told = styled("b", f"color:{BAD}", percent(line.share)) if hot else "decides" if line.decides else ""
    return styled(
        "div",
        f"{ground}border-left:3px solid {BAD if hot else 'transparent'};{_LINE}",
        styled("span", _NUMBER, f"{line.number:>{width}}"),
        styled("span", "white-space:pre;flex:1", _text(spans)),
        styled("span", "padding-left:1.2em", told),
    )


def _text(spans: Sequence[Span]) -> str:
    return "".join(
        styled("span", one.style, html.escape(one.text)) if one.style else html.escape(one.text) for one in spans
    )


def _hottest(lines: Sequence[SourceLine]) -> list[SourceLine]:
    """As many as there is room for, around the lines with most of the share."""
    if len(lines) <= _LINES:
        return list(lines)
    wanted: set[int] = set()
    for at in sorted(range(len(lines)), key=lambda at: -lines[at].share):
        around = {near for near in range(at - _AROUND, at + _AROUND + 1) if 0 <= near < len(lines)}
        if len(wanted | around) > _LINES:
            break
        wanted |= around
    return [lines[at] for at in sorted(wanted)]
