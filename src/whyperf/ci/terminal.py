"""The report that a terminal shows: one line for each benchmark, then the cause of each that changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

from rich.text import Text

from whyperf.ci.result import Cause, Report, Result
from whyperf.ci.state import BenchmarkState
from whyperf.ci.wording import amount
from whyperf.engines.quantities import percent, seconds
from whyperf.report.console import ReportConsole
from whyperf.report.glyphs import encodable
from whyperf.report.printable import printable
from whyperf.report.shorten import cut

_STYLES = {
    BenchmarkState.SLOWER: "bold red",
    BenchmarkState.FASTER: "bold green",
    BenchmarkState.SAME: "",
    BenchmarkState.INSUFFICIENT: "yellow",
    BenchmarkState.FAILED: "bold yellow",
}
_NAME, _STATE, _FIGURE = 40, max(len(state.value) for state in BenchmarkState), 8
_DIFF = 12  # lines
_DIFF_STYLES = {"-": "green", "+": "red", "@": "dim"}


def show(report: Report, *, file: IO[str] | None = None) -> None:
    console = ReportConsole(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
    for part in render(report):
        console.print(encodable(part, console.encoding), soft_wrap=True)


def render(report: Report) -> Iterator[Text]:
    width = min(_NAME, max(len(printable(result.benchmark.name)) for result in report.results))
    for result in report.results:
        yield _row(result, width)
    for result in report.results:
        if result.state is not BenchmarkState.SAME or result.notes:
            yield Text()
            yield Text(printable(f"{result.benchmark.name}: {result.sentence}"))
            if result.causes:
                yield from _cause(result.causes[0], result.state)
            for note in result.notes:
                yield Text(f"  {printable(note)}", "dim")


def _row(result: Result, width: int) -> Text:
    name = cut(printable(result.benchmark.name), width)
    row = Text(f"{result.state.value:{_STATE}}  ", _STYLES[result.state]).append(f"{name:{width}}", "bold")
    if result.figures is None:
        return row
    base, head = seconds(result.figures.base), seconds(result.figures.head)
    row.append(f"  {base:>{_FIGURE}} → {head:>{_FIGURE}} per {printable(result.figures.unit)}")
    return row.append(f"  {amount(result.figures)}", _STYLES[result.state])


def _cause(cause: Cause, state: BenchmarkState) -> Iterator[Text]:
    where = f" {cause.file}:{cause.line}" if cause.file else f" in {cause.module}" if cause.module else ""
    of = "added" if state is BenchmarkState.SLOWER else "saved"
    text = Text(f"  {printable(cause.function)}", "bold").append(printable(where), "cyan")
    yield text.append(f"  {percent(cause.share)} of the {of} time, confidence {printable(cause.confidence)}")
    if cause.why:
        yield Text(f"  {printable(cause.why)}")
    for commit in cause.commits[:1]:
        yield Text(printable(f"  Changed by {commit.commit[:10]} {commit.subject}"))
    for line in cause.diff[:_DIFF]:
        yield Text(f"    {printable(line)}", _DIFF_STYLES.get(line[:1], ""))
