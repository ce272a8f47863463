"""The comment on a change: a table of all benchmarks, then the cause of each that is slower."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from whyperf.ci.links import blob_url, line_url
from whyperf.ci.result import Cause, Figures, Report, Result
from whyperf.ci.state import BenchmarkState
from whyperf.ci.wording import amount
from whyperf.diagnose.verdict import ChangedBy
from whyperf.engines.finding import HotLine
from whyperf.engines.quantities import percent, seconds
from whyperf.report.printable import printable
from whyperf.report.shorten import cut, indentation

MARKER = "<!-- whyperf-ci -->"  # by which a bot finds its own comment
_SAID = {
    BenchmarkState.SLOWER: "is slower",
    BenchmarkState.FASTER: "is faster",
    BenchmarkState.SAME: "shows no difference",
    BenchmarkState.INSUFFICIENT: "has not enough data",
    BenchmarkState.FAILED: "failed",
}
_LOUD = {BenchmarkState.SLOWER: "**{}**", BenchmarkState.FAILED: "**{}**"}
_BAR = 12  # cells
_LONGEST = 60_000  # characters: GitHub takes 65,536
_NAME, _TEXT, _LINE = 80, 400, 160  # characters of a name, a sentence, a line of source
_CAUSES = 3
_COMMITS = 3
_DIFF = 40  # lines
_NOTES = 5
_LEFT_OUT = "\n*More is left out of this comment: see the JSON report.*\n"
_BACKTICKS = re.compile("`+")
_PUNCTUATION = re.compile(r"([\\`*_\[\]|~$])")
_LINE_START = re.compile(
    r"^(\s*)([-+=#>]|\d+(?=[.)](?:\s|$)))"
)  # where it would begin a list, a heading or a quotation
# What forges make links of after Markdown was rendered. A backslash does not help against that, a comment between does.
_LINKED = re.compile(r"@(?=\S)|(?<=\w)://|\bwww\.|(?:(?<=#)|(?<=!)|(?<=GH-))(?=\d)", re.IGNORECASE)
_COMMENT = "<!-- -->"


def to_markdown(report: Report, environment: Mapping[str, str] | None = None) -> str:
    """`environment`: a forge's, for links to lines."""
    blob = blob_url(environment or {}, report.head.commit)
    parts = [MARKER, f"### whyperf: {headline(report)}", *_table(report)]
    parts += [_about(result, blob) for state in BenchmarkState for result in report.having(state) if _has_more(result)]
    parts.append(_footer(report))
    return _bounded(parts)


def headline(report: Report) -> str:
    """One line for all benchmarks."""
    counts = {state: len(report.having(state)) for state in BenchmarkState}
    if len(report.results) == 1:
        only = report.results[0]
        return f"{code(cut(only.benchmark.name, _NAME))} {_SAID[only.state]}"
    said = [
        f"{counts[state]} {state.value}"
        for state in BenchmarkState
        if counts[state] and state is not BenchmarkState.SAME
    ]
    if not said:
        return f"no difference in {len(report.results)} benchmarks"
    return f"{', '.join(said)} of {len(report.results)} benchmarks"


def bar(figures: Figures, width: int = _BAR) -> str:
    """What both took, and beyond it what the head added or saved."""
    least, most = min(figures.base, figures.head), max(figures.base, figures.head)
    common = width if most <= 0 else round(width * least / most)
    return "█" * common + ("▒" if figures.head > figures.base else "░") * (width - common)


def _table(report: Report) -> Iterator[str]:
    rows = ["| benchmark | | base | head | change | |", "|---|---|--:|--:|--:|---|"]
    for result in report.results:
        figures, state = result.figures, result.state
        columns = [code(cut(result.benchmark.name, _NAME)), _LOUD.get(state, "{}").format(state.value)]
        if figures is None:
            columns += ["", "", "", ""]
        else:
            certain = state in (BenchmarkState.SLOWER, BenchmarkState.FASTER)
            change = amount(figures) if state is not BenchmarkState.INSUFFICIENT else ""
            columns += [seconds(figures.base), seconds(figures.head), change, f"`{bar(figures)}`" if certain else ""]
        rows.append("| " + " | ".join(cell(column) for column in columns) + " |")
    yield "\n".join(rows)


def _has_more(result: Result) -> bool:
    return result.state is not BenchmarkState.SAME or bool(result.notes)


def _about(result: Result, blob: str | None) -> str:
    name = code(cut(result.benchmark.name, _NAME))
    parts = [f"**{name} {_SAID[result.state]}**: {plain(cut(result.sentence, _TEXT))}"]
    if result.causes:
        first = result.causes[0]
        parts.append(_named(first, result.state, blob))
        if result.state is BenchmarkState.SLOWER:
            parts += [part for part in (_change_of(first), _evidence(result, blob)) if part]
    if not result.causes and result.notes:
        parts += [f"- {plain(cut(note, _TEXT))}" for note in result.notes[:_NOTES]]
    return "\n\n".join(parts)


def _named(cause: Cause, state: BenchmarkState, blob: str | None) -> str:
    where = _where(cause, blob)
    at = f" at {where}" if where else f" in {code(cut(cause.module, _NAME))}" if cause.module else ""
    of = "the added time" if state is BenchmarkState.SLOWER else "the saved time"
    said = (
        f"{code(cut(cause.function, _NAME))}{at}: {percent(cause.share)} of {of}, confidence {plain(cause.confidence)}."
    )
    return f"{said} {plain(cut(cause.why, _TEXT))}".rstrip()


def _where(cause: Cause, blob: str | None) -> str:
    if not cause.file:
        return ""
    shown = code(f"{cause.file}:{cause.line}" if cause.line else cause.file)
    return f"[{shown}]({line_url(blob, cause.file, cause.line)})" if blob else shown


def _change_of(cause: Cause) -> str:
    said = "\n".join(_commit(one, cause) for one in cause.commits[:_COMMITS])
    if not cause.diff:
        return said
    body = block([cut(line, _LINE) for line in cause.diff[:_DIFF]], "diff")
    parts = ("<details open>\n<summary>The change there</summary>", said, body, "</details>")
    return "\n\n".join(part for part in parts if part)


def _commit(changed: ChangedBy, cause: Cause) -> str:
    where = "" if changed.function == cause.function else f" {code(cut(changed.function, _NAME))}, which leads there,"
    return f"Changed{where} by {code(changed.commit[:10])} {plain(cut(changed.subject, _NAME))}"


def _evidence(result: Result, blob: str | None) -> str:
    first, *others = result.causes[:_CAUSES]
    parts = [f"- {plain(cut(sentence, _TEXT))}" for sentence in first.evidence[:_NOTES]]
    parts += [f"- Also {_named(other, result.state, blob)}" for other in others]
    parts += [f"- {plain(cut(note, _TEXT))}" for note in result.notes[:_NOTES]]
    source = block(_source(first.lines), "") if any(line.text.strip() for line in first.lines) else ""
    body = "\n\n".join(part for part in ("\n".join(parts), source) if part)
    return f"<details>\n<summary>Evidence</summary>\n\n{body}\n\n</details>" if body else ""


def _source(lines: tuple[HotLine, ...]) -> list[str]:
    common = min((indentation(line.text) for line in lines if line.text.strip()), default=0)
    return [
        f"{percent(line.share) if line.share else '':>5} {line.line:>6}  {cut(line.text[common:], _LINE)}"
        for line in lines
    ]


def _footer(report: Report) -> str:
    revisions = f"{code(report.base.short)} → {code(report.head.short)}"
    legend = "█ both, ▒ added, ░ saved"
    return f"<sub>{revisions} · {legend} · runs of base and head alternate · {seconds(report.seconds)}</sub>\n"


def _bounded(parts: list[str]) -> str:
    """Whole parts, as many as fit, with the last one, which is the footer."""
    *most, last = parts
    kept, room = list[str](), _LONGEST - len(last) - len(_LEFT_OUT)
    for part in most:
        if len(part) + 2 > room:
            return "\n\n".join([*kept, _LEFT_OUT.strip(), last])
        kept.append(part)
        room -= len(part) + 2
    return "\n\n".join([*kept, last])


def plain(text: str) -> str:
    """Words in a sentence: nothing in it links, mentions, formats or breaks a table."""
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
