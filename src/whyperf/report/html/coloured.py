"""Source in few colours that can be read on light and on dark grounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_STYLES = {
    "Comment": "opacity:0.65",
    "Keyword": "color:#9a62c4",
    "Literal.String": "color:#548c2f",
    "Literal.Number": "color:#a3761c",
    "Name.Function": "color:#387db5",
}


@dataclass(frozen=True)
class Span:
    text: str
    style: str = ""  # of an element, empty: none is needed


def coloured(lines: Sequence[str], file: str) -> list[list[Span]]:
    """The lines in pieces, by the language that the file's name tells; C++ where it tells none."""
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
