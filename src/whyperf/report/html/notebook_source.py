"""Source for notebooks: with the weight of each line beside it, or with what differs between two builds."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.engines.finding import ChangedLine, SourceChange
from whyperf.engines.quantities import percent
from whyperf.report.html.fragments import BAD, GOOD, LONGEST, QUIET, RAISED, RULE, code, styled
from whyperf.report.html.model import Excerpt, SourceLine
from whyperf.report.printable import printable

_LINES = 20
_AROUND = 3
_LEAST_SHARE = 0.005
_LINE = "display:flex;padding:0 0.8em 0 0.6em;font-family:monospace;line-height:1.5"
_NUMBER = "white-space:pre;opacity:0.6;padding-right:1.2em"
_STYLES = {
    "Comment": "opacity:0.65",
    "Keyword": "color:#9a62c4",
    "Literal.String": "color:#548c2f",
    "Literal.Number": "color:#a3761c",
    "Name.Function": "color:#387db5",
}


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


@dataclass(frozen=True)
class Span:
    text: str
    style: str = ""  # of an element, empty: none is needed


def coloured(lines: Sequence[str], file: str) -> list[list[Span]]:
    """The lines in pieces, by the language that the file's name tells; C++ where it tells none. The colours can be read
    on light and on dark grounds.
    """
    from pygments.lexers import CppLexer, get_lexer_for_filename
    from pygments.util import ClassNotFound

    plain = {"stripnl": False, "ensurenl": False}
    try:
        lexer = get_lexer_for_filename(file.rsplit("/", 1)[-1], **plain)
    except ClassNotFound:
        lexer = CppLexer(**plain)
    found: list[list[Span]] = [[]]
    for kind, text in lexer.get_tokens("\n".join(lines)):
        style = next((style for name, style in _STYLES.items() if str(kind).startswith(f"Token.{name}")), "")
        for at, part in enumerate(text.split("\n")):
            if at > 0:
                found.append([])
            if part:
                _add(found[-1], Span(part, style if part.strip() else ""))
    # A lexer that swallows or adds a line must not shift the others.
    same = len(found) == len(lines) and all(
        "".join(span.text for span in spans) == line for spans, line in zip(found, lines, strict=True)
    )
    return found if same else [[Span(line)] for line in lines]


def _add(spans: list[Span], span: Span) -> None:
    """Blanks go with what follows them: alone between two elements they would not survive every tool."""
    if spans and (spans[-1].style == span.style or not spans[-1].text.strip()):
        span = Span(spans.pop().text + span.text, span.style)
    spans.append(span)
