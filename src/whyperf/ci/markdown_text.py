"""Text from anywhere made fit for a Markdown comment: nothing in it links, mentions, formats or breaks a table."""

from __future__ import annotations

import re

from whyperf.report.printable import printable

_BACKTICKS = re.compile("`+")
_PUNCTUATION = re.compile(r"([\\`*_\[\]|~$])")
_LINE_START = re.compile(
    r"^(\s*)([-+=#>]|\d+(?=[.)](?:\s|$)))"
)  # where it would begin a list, a heading or a quotation
# What forges make links of after Markdown was rendered. A backslash does not help against that, a comment between does.
_LINKED = re.compile(r"@(?=\S)|(?<=\w)://|\bwww\.|(?:(?<=#)|(?<=!)|(?<=GH-))(?=\d)", re.IGNORECASE)
_COMMENT = "<!-- -->"


def plain(text: str) -> str:
    """Words in a sentence."""
    marked = _LINKED.sub(_part, printable(text).strip())
    parts = [_escaped(part) for part in marked.split("\0")]
    return _LINE_START.sub(_unlike_a_list, _COMMENT.join(parts))


def code(text: str) -> str:
    """A name, within a sentence."""
    shown = printable(text)
    if not shown.strip():
        return "` `"
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(shown)), default=0) + 1)
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def cell(text: str) -> str:
    """What is Markdown already, in a table: there a bar ends the cell, even within code."""
    return text.replace("\\|", "|").replace("|", "\\|")


def block(lines: list[str], language: str) -> str:
    shown = [printable(line.rstrip("\r\n")) for line in lines]
    longest = max((len(run) for line in shown for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _part(match: re.Match[str]) -> str:
    text = match.group()
    return f"{text[:1]}\0{text[1:]}" if text else "\0"


def _unlike_a_list(match: re.Match[str]) -> str:
    number = match[2].isdigit()
    return f"{match[1]}{match[2]}{_COMMENT}" if number else f"{match[1]}\\{match[2]}"


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _PUNCTUATION.sub(r"\\\1", text)
