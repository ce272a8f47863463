"""Pieces of HTML that carry their styles themselves, and text from recordings as what it is: text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from whyperf.report.printable import printable

# Text has its surroundings' colour; these can be read on light and on dark grounds.
GOOD, BAD = "#387db5", "#d2501b"
RULE, RAISED, TRACK = "rgba(128,128,128,0.35)", "rgba(128,128,128,0.08)", "rgba(128,128,128,0.18)"
QUIET = "opacity:0.72"
LONGEST = 200  # characters of a text
_MONO = "font-family:monospace;background:none;padding:0;border:0;color:inherit"


def styled(tag: str, style: str, *content: str) -> str:
    """An element; `content` is HTML already."""
    return f'<{tag} style="{style}">{"".join(content)}</{tag}>'


def escaped(text: str, longest: int = LONGEST) -> str:
    return html.escape(printable(text if len(text) <= longest else f"{text[:longest]}…"), quote=True)


def code(text: str, longest: int = LONGEST) -> str:
    return styled("code", _MONO, escaped(text, longest))


def prose(text: str, names: Iterable[str]) -> str:
    """A sentence with the program's names in it set as code; words that sentences are made of stay words."""
    longest = 4 * LONGEST
    told = [name for name in sorted(set(names), key=len, reverse=True) if not name.isalpha()]
    if not told:
        return escaped(text, longest)
    parts = re.split(rf"(?<![\w$.>:])({'|'.join(map(re.escape, told))})(?![\w$])", text[:longest])
    # Every second part is what was matched.
    shown = (code(part) if at % 2 else escaped(part, longest) for at, part in enumerate(parts))
    return "".join(shown) + ("…" if len(text) > longest else "")
