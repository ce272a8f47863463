"""The report that a terminal shows; plain text when piped.

Everything from recordings goes through `printable` and into `Text`, never through markup.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import IO

from rich.text import Text

from whyperf.diagnose.verdict import AbnormalVariable, Suspect, Verdict, VerdictKind
from whyperf.engines.excess.explain import Explanation, Standing
from whyperf.engines.finding import HotLine
from whyperf.engines.quantities import percent, seconds
from whyperf.report.changed_lines import changed_lines
from whyperf.report.commits import commits, revisions
from whyperf.report.console import ReportConsole
from whyperf.report.counted_calls import counted_calls
from whyperf.report.glyphs import Glyphs, bar, encodable, glyphs_for, sparkline
from whyperf.report.heat import heat_map
from whyperf.report.ladder import ladder
from whyperf.report.origin_chain import origin_chain
from whyperf.report.printable import printable
from whyperf.report.shorten import call_path, cut, indentation, short_name, short_path

_LEFT, _SHARE, _CONFIDENCE = "  #  ", "share of the excess", "confidence"
_SHOWN = 10  # suspects
_DETAILED = 3  # suspects shown with path, sentence and source
_QUANTITY = re.compile(r"(?<=\d) (?=(?:s|ms|µs|ns|MB|runs)\b)")  # never broken after the number
_DECIDES = "  decides"  # that the hottest line is reached
_WIDEST = 120  # beyond it lines are hard to read, except for source
_CONFIDENCE_STYLES = {"high": "bold green", "medium": "yellow", "low": "dim"}
_VERDICT_STYLES = {
    VerdictKind.DIFFERENCE: "bold red",
    VerdictKind.NONE: "bold green",
    VerdictKind.MORE_WORK: "bold cyan",
    VerdictKind.INSUFFICIENT: "bold yellow",
}


def show(
    verdict: Verdict,
    explanations: Sequence[Explanation] = (),
    *,
    top: int = _SHOWN,
    file: IO[str] | None = None,
    width: int | None = None,
    colour: bool | None = None,
) -> None:
    """`width` and `colour` are those of the output unless given."""
    console = ReportConsole(
        file=file or sys.stdout,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=colour,
        color_system="auto" if colour is None else ("standard" if colour else None),
    )
    for part in render(verdict, console.width, explanations, top=top, encoding=console.encoding):
        console.print(encodable(part, console.encoding), soft_wrap=True)


def render(
    verdict: Verdict,
    width: int,
    explanations: Sequence[Explanation] = (),
    *,
    top: int = _SHOWN,
    encoding: str = "utf-8",
) -> Iterator[Text]:
    """The report's lines."""
    return _Report(width, glyphs_for(encoding)).render(verdict, explanations, top)


class _Report:
    def __init__(self, width: int, glyphs: Glyphs) -> None:
        self.width = max(40, width)
        self.text_width = min(self.width, _WIDEST)
        self.glyphs = glyphs

    def render(self, verdict: Verdict, explanations: Sequence[Explanation], top: int) -> Iterator[Text]:
        suspects = verdict.suspects[:top]
        if verdict.machine:
            yield self._wrapped(verdict.machine, "bold yellow")
        yield self._wrapped(verdict.symptom.sentence, _VERDICT_STYLES[verdict.kind])
        yield from revisions(verdict, self.width, self.glyphs)
        for warning in verdict.warnings:
            yield self._wrapped(warning, "bold yellow")
        yield from self._percentiles(verdict)
        if suspects:
            yield Text()
            yield from self._overview(suspects)
            if len(verdict.suspects) > len(suspects):
                yield Text(f"   and {len(verdict.suspects) - len(suspects)} more: --top {len(verdict.suspects)}", "dim")
        if verdict.disagreements:
            yield Text()
        for sentence in verdict.disagreements:
            yield self._wrapped(sentence, "yellow")
        for suspect in suspects[:_DETAILED]:
            yield from self._detail(suspect)
        if verdict.counts is not None:
            yield from counted_calls(verdict.counts, self.text_width)
        if verdict.contexts is not None:
            yield from heat_map(verdict.contexts, self.width, top, self.glyphs)
        for explanation in explanations:
            yield from self._explanation(explanation)
        yield from self._notes(verdict)

    def _percentiles(self, verdict: Verdict) -> Iterator[Text]:
        """How long requests take, with intervals."""
        if not verdict.percentiles:
            return
        yield Text()
        requests = "calls" if verdict.symptom is not None and verdict.symptom.unit == "call" else "requests"
        yield Text(f"{requests:>8}  {'good':>9} {'95% interval':>21}  {'bad':>9} {'95% interval':>21}", "dim")
        for one in verdict.percentiles:
            spans = [f"{seconds(low)} to {seconds(high)}" for low, high in (one.good_interval, one.bad_interval)]
            figures = f"{seconds(one.good):>9} {spans[0]:>21}  {seconds(one.bad):>9} {spans[1]:>21}"
            yield Text(f"{f'p{one.percentile:g}':>8}  {figures}", "bold" if one.certain else "")

    def _overview(self, suspects: Sequence[Suspect]) -> Iterator[Text]:
        wheres = [_where(suspect) for suspect in suspects]
        room = self.text_width - len(_LEFT) - 2 - 2 - len(_SHARE) - 2 - len(_CONFIDENCE)
        longest_name = max(len(printable(suspect.function)) for suspect in suspects)
        where_room = max(room * 2 // 5, room - longest_name)
        where_width = min(max(len("where"), *(len(where) for where in wheres)), where_room)
        names = [self._name(suspect.function, room - where_width) for suspect in suspects]
        name_width = max(len("function"), *(len(name) for name in names))
        yield Text(f"{_LEFT}{'function':{name_width}}  {'where':{where_width}}  {_SHARE}  {_CONFIDENCE}", "dim")
        for suspect, name, where in zip(suspects, names, wheres, strict=True):
            row = Text().append(f"{suspect.rank:>3}  ", "bold")
            row.append(f"{name:{name_width}}  ", "bold" if suspect.rank <= _DETAILED else "")
            row.append(f"{short_path(where, where_width, self.glyphs.dots):{where_width}}  ", "cyan")
            row.append(bar(suspect.share, len(_SHARE) - 6, self.glyphs), "red")
            row.append(f" {percent(suspect.share):>5}  ", "")
            row.append(suspect.confidence, _CONFIDENCE_STYLES[suspect.confidence])
            yield row

    def _detail(self, suspect: Suspect) -> Iterator[Text]:
        yield Text()
        number = f"{suspect.rank:>3}  "
        title = Text().append(number + self._name(suspect.function, self.text_width - len(number)), "bold")
        where = printable(f"{suspect.file}:{suspect.line}" if suspect.line else suspect.file)
        place = f"{where} in {printable(suspect.module)}" if where else f"in {printable(suspect.module)}"
        one_line = len(title) + 2 + len(place) <= self.text_width
        if one_line:
            yield title.append("  ").append(place, "cyan")
        else:
            yield title
            yield self._indented(short_path(place, self.text_width - 5, self.glyphs.dots), "cyan")
        if len(suspect.path) > 1:
            names = [printable(name) for name in suspect.path]
            path = call_path(names, self.text_width - 5, self.glyphs.arrow, self.glyphs.dots)
            yield self._indented(path, "dim")
        yield self._indented(suspect.why)
        yield from self._evidence(suspect)
        if suspect.pattern not in ("", "unknown"):
            yield self._indented(f"Pattern: {suspect.pattern}", "dim")
        if suspect.doubt:
            yield self._indented(f"Confidence {suspect.confidence}: {suspect.doubt}.", "dim")
        yield from origin_chain(suspect, self.text_width, self.glyphs)
        told = {(suspect.file, line.line) for line in suspect.lines if line.text.strip()}
        for variable in suspect.variables:
            yield from self._variable(variable)
            yield from self._read_at(variable, suspect.file, told)
        if any(line.text.strip() for line in suspect.lines):
            yield Text()
            yield from self._source(suspect.lines, suspect.decided_by)
        if suspect.change is not None:
            yield from changed_lines(suspect.change, self.width, self.glyphs)
        yield from commits(suspect, self.width, self.glyphs)

    def _evidence(self, suspect: Suspect) -> Iterator[Text]:
        """Which engines name it, and what those say that do not tell it."""
        if len(suspect.evidence) > 1:
            named = ", ".join(f"{one.engine} #{one.rank}" for one in suspect.evidence)
            yield self._indented(f"Named by {named}", "dim")
        for one in suspect.evidence:
            if one.why and one.why not in suspect.why:
                yield self._lines(f"{one.engine}: {one.why}", self.text_width, "       ", "", first="     ")
        for one in suspect.evidence:
            yield from ladder(one.detail, self.text_width, self.glyphs)

    def _variable(self, variable: AbnormalVariable) -> Iterator[Text]:
        """Good above bad, so that the histograms can be compared."""
        yield Text()
        title = f"{variable.name} ({variable.type})" if variable.type else variable.name
        what = {"delta": ", change from sample to sample", "duration": ", how long it stays"}.get(
            variable.dimension, ""
        )
        yield self._indented(self._name(title, self.text_width - 5 - len(what)) + what, "bold")
        rows = (("good", variable.good, variable.good_spread), ("bad", variable.bad, variable.bad_spread))
        for kind, values, spread in rows:
            row = Text().append(f"       {kind:4} ", "dim")
            if spread is not None:
                row.append(f"{self.glyphs.rule}{sparkline(spread.histogram, self.glyphs)}{self.glyphs.rule} ", "cyan")
            # Of flags and pointers the range is what they mostly are.
            told = spread is None or spread.typical == values or values.startswith(f"mostly {spread.typical} ")
            typical = "" if spread is None or told else f", typically {spread.typical}"
            yield row.append(cut(printable(values + typical), self.width - len(row), self.glyphs.dots))

    def _read_at(self, variable: AbnormalVariable, file: str, told: set[tuple[str, int]]) -> Iterator[Text]:
        """Where abnormal values were read: the source, or its lines' numbers if it is not stored or shown elsewhere.

        `file` is the one that the reader takes lines to be of; `told` the lines shown so far.
        """
        if not variable.lines:
            return
        source = [line for line in variable.read_at if line.text.strip()]
        places = {(variable.file, line.line) for line in source}
        of_file = "" if variable.file == file else f" of {variable.file.rsplit('/', 1)[-1]}"
        if places <= told or of_file:
            lines = ", ".join(map(str, sorted(variable.lines)))
            yield self._indented(f"  read at line{'s' if len(variable.lines) > 1 else ''} {lines}{of_file}", "dim")
        if not places <= told:
            yield from self._source(sorted(source, key=lambda line: line.line))
            told |= places

    def _source(self, lines: Sequence[HotLine], decided_by: int = 0) -> Iterator[Text]:
        digits = len(str(max(line.line for line in lines)))
        room = self.width - len(f"     > {'':{digits}} | ") - len("  100%") - (len(_DECIDES) if decided_by else 0)
        texts = [printable(line.text.rstrip()) for line in lines]
        common = min((indentation(text) for text in texts if text.strip()), default=0)
        codes = [cut(text[common:], room, self.glyphs.dots) for text in texts]
        hot_width = max((len(code) for code, line in zip(codes, lines, strict=True) if _is_hot(line)), default=0)
        before = lines[0].line - 1
        for line, code in zip(lines, codes, strict=True):
            if line.line != before + 1:
                yield Text(f"{'':5}  {self.glyphs.dots:>{digits}}", "dim")
            before = line.line
            hot = _is_hot(line)
            row = Text().append(f"     {self.glyphs.hot if hot else ' '} ", "bold red")
            row.append(f"{line.line:>{digits}} {self.glyphs.rule}", "dim")
            row.append(f" {code:{hot_width}}" if hot else f" {code}".rstrip(), "bold" if hot else "")
            if hot:
                row.append(f"  {percent(line.share):>4}", "bold red")
            if line.line == decided_by:
                row.append(_DECIDES, "dim")
            yield row

    def _explanation(self, explanation: Explanation) -> Iterator[Text]:
        yield Text()
        rank = {
            Standing.RANKED: f" ranks {explanation.rank} by its share of the excess",
            Standing.FOLDED: " is a part of its callers",
            Standing.UNSEEN: " was never seen",
        }[explanation.standing]
        yield Text(self._name(explanation.function.name, self.text_width - len(rank)) + rank, "bold")
        for sentence in explanation.sentences:
            yield self._bullet(sentence)

    def _notes(self, verdict: Verdict) -> Iterator[Text]:
        if verdict.notes:
            yield Text()
            yield Text("Notes", "bold")
            for note in verdict.notes:
                yield self._bullet(note)
        if verdict.next_command:
            yield Text()
            # Never wrapped, so that it can be copied.
            yield Text().append("Next: ", "bold").append(printable(verdict.next_command), "cyan")

    def _name(self, name: str, width: int) -> str:
        return short_name(printable(name), width, self.glyphs.dots)

    def _wrapped(self, sentence: str, style: str) -> Text:
        return self._lines(sentence, self.text_width, "", style)

    def _indented(self, text: str, style: str = "") -> Text:
        return self._lines(text, self.text_width, "     ", style)

    def _bullet(self, text: str) -> Text:
        return self._lines(text, self.text_width, "    ", "", first=f"  {self.glyphs.bullet} ")

    def _lines(self, text: str, width: int, indent: str, style: str, first: str | None = None) -> Text:
        lines = textwrap.wrap(
            _QUANTITY.sub("\N{NO-BREAK SPACE}", printable(text)),
            width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return Text("\n".join(lines).replace("\N{NO-BREAK SPACE}", " "), style)


def _where(suspect: Suspect) -> str:
    """File and line, else the module."""
    if not suspect.file:
        return printable(suspect.module)
    name = printable(suspect.file.rsplit("/", 1)[-1])
    return f"{name}:{suspect.line}" if suspect.line else name


def _is_hot(line: HotLine) -> bool:
    return line.share >= 0.005
