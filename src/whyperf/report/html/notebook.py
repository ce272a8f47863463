"""The page's first screen as a fragment that notebooks show: headline, runs, suspects with their evidence and source.

Every style is an attribute: there is no style sheet, script, id or class that could meet another answer's, and nothing
that notebooks drop of output that they do not trust.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whyperf.diagnose.verdict import AbnormalVariable, Suspect, Verdict, VerdictKind
from whyperf.engines.quantities import percent, seconds
from whyperf.report.html.build import title_of
from whyperf.report.html.examined import Examined
from whyperf.report.html.fragments import BAD, GOOD, LONGEST, QUIET, RULE, TRACK, code, escaped, prose, styled
from whyperf.report.html.model import RunAmounts, SuspectRow, VerdictSection
from whyperf.report.html.notebook_source import differences, source
from whyperf.report.html.run_dots import run_dots
from whyperf.report.html.verdict import verdict_section

_SYMPTOMS = {
    "cpu": "on the CPU",
    "wait": "waiting",
    "io": "waiting for input and output",
    "memory": "memory",
    "external": "outside of the program",
}
_PATTERNS = {
    "wrong-constraint": "a condition or a bound holds a wrong value",
    "missing-constraint": "a bound is missing",
    "scalability": "the work grows with the data",
    "new-path": "the good runs never come here",
    "long-wait": "it waits",
    "long-run": "it runs long",
    "deadlock": "threads wait for each other in a circle",
    "external": "the cause is outside of the program",
}
_SHOWN = 3  # suspects in full, the first one open
_LISTED = 10
_MOST = 90_000  # characters in all
_VARIABLES = 4
_RUNS = 8  # whose amounts are written
_PATH = 8
_CELL = f"text-align:left;vertical-align:middle;font-weight:normal;border:0;border-top:1px solid {RULE}"
_ROW = "background:none"  # notebooks colour every other one
_TABLE = "border-collapse:collapse;font-size:1em;border:0;margin:0.2em 0 1em"


def first_screen(verdict: Verdict, examined: Examined) -> str:
    """With as many suspects in full as there is room for: notebooks are kept, and sent."""
    section = verdict_section(verdict, examined.bad_runs, values=None, contexts=None, causes=None, relations=None)
    whole = "the difference" if examined.good else "the stall"
    rows = list(zip(section.suspects, verdict.suspects, strict=True))[:_SHOWN]
    suspects = [_suspect(row, suspect, section.unit, whole) for row, suspect in rows]
    frame = _frame(section, examined)
    while suspects and sum(map(len, (*frame, *suspects))) > _MOST:
        suspects.pop()
    return "".join([frame[0], *suspects, frame[1]])


def _frame(section: VerdictSection, examined: Examined) -> tuple[str, str]:
    """What is before and after the suspects."""
    before = [
        _overline(section, examined),
        styled("div", "font-size:1.7em;line-height:1.2;margin:0.15em 0 0.6em", escaped(section.sentence, 4 * LONGEST)),
        *map(_warning, section.warnings[:_LISTED]),
        run_dots(section.runs, section.measure, section.unit),
        _overview(section.suspects) if len(section.suspects) > 1 else "",
        *map(_warning, section.disagreements[:_LISTED]),
    ]
    page = styled(
        "small", QUIET, "Values, flame graphs and recordings are on the page: ", code("answer.page('why.html')")
    )
    opening = '<div style="max-width:62em;line-height:1.5;padding:0.4em 0 0.8em">'
    return opening + "".join(before), "".join([*_notes(section), page, "</div>"])


def _overline(section: VerdictSection, examined: Examined) -> str:
    good, bad = len(examined.good), len(examined.bad)
    runs = f"{_plural(good, 'good run')} and {_plural(bad, 'bad run')}" if good else _plural(bad, "recording")
    told = [title_of(examined), runs]
    if section.kind is VerdictKind.DIFFERENCE and section.measure.endswith("_s"):
        told.append(_SYMPTOMS.get(section.symptom, section.symptom))
    return styled("div", QUIET, " · ".join(map(escaped, told)))


def _warning(sentence: str) -> str:
    return styled(
        "div", f"border-left:3px solid {BAD};padding-left:0.9em;margin:0.6em 0", escaped(sentence, 4 * LONGEST)
    )


def _overview(suspects: Sequence[SuspectRow]) -> str:
    """One row a suspect, with a bar for its share."""
    rows = [_overview_row(row) for row in suspects[:_LISTED]]
    more = [styled("div", QUIET, f"and {len(suspects) - _LISTED} more")] if len(suspects) > _LISTED else []
    return styled("table", f"{_TABLE};width:100%", *rows) + "".join(more)


def _overview_row(row: SuspectRow) -> str:
    cell = f"{_CELL};padding:0.3em 1.2em 0.3em 0"
    part = 100 * min(max(row.share, 0.0), 1.0)
    bar = styled(
        "div", f"background:{TRACK};height:8px", styled("div", f"background:{BAD};height:8px;width:{part:.1f}%")
    )
    return styled(
        "tr",
        _ROW,
        styled("td", f"{cell};{QUIET}", str(row.rank)),
        styled("td", cell, f"<b>{code(row.function)}</b>"),
        styled("td", f"{cell};{QUIET}", escaped(_place(row.file, row.line) if row.file else row.module)),
        styled("td", f"{cell};width:35%", bar),
        styled("td", f"{cell};text-align:right", percent(row.share)),
        styled("td", f"{cell};{QUIET}", escaped(row.confidence)),
    )


def _suspect(row: SuspectRow, suspect: Suspect, unit: str, whole: str) -> str:
    place = f"{code(_place(row.file, row.line))} in " if row.file else "in "
    where = styled("span", QUIET, place, escaped(row.module))
    title = styled(
        "summary", "font-size:1.1em;cursor:pointer", f"{row.rank}&ensp;<b>{code(row.function)}</b>&ensp;{where}"
    )
    body = styled(
        "div",
        "margin:0.3em 0 0 1.6em",
        styled("div", "font-size:1.08em", prose(row.why, _names(row, suspect))),
        f"<b>{row.pattern}</b>{styled('span', QUIET, ': ', _PATTERNS[row.pattern])}"
        if row.pattern in _PATTERNS
        else "",
        styled("div", "margin:0.6em 0", *_facts(row, unit, whole)),
        _variables(suspect.variables) if suspect.variables else "",
        "" if row.excerpt is None else source(row.excerpt),
        "" if row.change is None else differences(row.change, row.file),
    )
    return f'<details{" open" if row.rank == 1 else ""} style="margin:0.8em 0">{title}{body}</details>'


def _names(row: SuspectRow, suspect: Suspect) -> set[str]:
    return {*row.path, row.function, *(one.function for one in row.inside), *(one.name for one in suspect.variables)}


def _facts(row: SuspectRow, unit: str, whole: str) -> Iterator[str]:
    interval = "" if row.interval is None else f" (95% interval {' to '.join(map(percent, row.interval))})"
    yield _fact("share", f"<b>{percent(row.share)}</b> of {whole}{interval}, {escaped(row.confidence)} confidence")
    if len(row.path) > 1:
        ends = row.path if len(row.path) <= _PATH else (*row.path[:3], "…", *row.path[-4:])
        yield _fact("path", " › ".join(map(code, ends)))
    deciding = next((line for line in row.excerpt.lines if line.decides), None) if row.excerpt is not None else None
    if deciding is not None:
        yield _fact("decided at", f"line {deciding.number}: {code(deciding.text.strip())}")
    if row.runs is not None:
        yield _fact("run by run", _amounts(row.runs, unit))
    if len(row.inside) > 1:
        yield _fact("spent in", ", ".join(f"{code(one.function)} {percent(one.share)}" for one in row.inside))
    if len(row.evidence) > 1:
        yield _fact("named by", ", ".join(escaped(f"{one.engine} #{one.rank}") for one in row.evidence))


def _fact(name: str, told: str) -> str:
    label = styled("span", f"flex:0 0 6.5em;{QUIET}", name)
    return styled(
        "div", "display:flex;gap:1em", label, styled("span", "flex:1;min-width:0;overflow-wrap:anywhere", told)
    )


def _amounts(runs: RunAmounts, unit: str) -> str:
    sides = [
        styled("span", f"color:{colour}", ", ".join(map(seconds, side[:_RUNS])), ", …" if len(side) > _RUNS else "")
        for colour, side in ((GOOD, runs.good), (BAD, runs.bad))
    ]
    return f"{' → '.join(sides)} per {escaped(unit)}"


def _variables(variables: Sequence[AbnormalVariable]) -> str:
    cell = f"{_CELL};padding:0.25em 1.6em 0.25em 0"
    head = [styled("td", f"{cell};border-top:0;{QUIET}", name) for name in ("its data", "good runs", "bad runs")]
    rows = [
        styled(
            "tr",
            _ROW,
            styled("td", cell, code(one.name), {"delta": " change", "duration": " stay"}.get(one.dimension, "")),
            styled("td", f"{cell};color:{GOOD}", escaped(one.good)),
            styled("td", f"{cell};color:{BAD}", escaped(one.bad)),
        )
        for one in variables[:_VARIABLES]
    ]
    return styled("table", _TABLE, styled("tr", _ROW, *head), *rows)


def _notes(section: VerdictSection) -> Iterator[str]:
    if section.notes:
        notes = [f"<li>{escaped(note, 4 * LONGEST)}</li>" for note in section.notes[:_LISTED]]
        notes += [f"<li>and {len(section.notes) - _LISTED} more</li>"] if len(section.notes) > _LISTED else []
        title = f"What could not be judged, and what else there is to know ({len(section.notes)})"
        summary = styled("summary", f"cursor:pointer;{QUIET}", title)
        yield styled("details", "margin:0.8em 0", summary, styled("ul", "margin:0.3em 0", *notes))
    if section.next_command:
        yield styled("div", "margin:0.8em 0", "What would settle it: ", code(section.next_command, 4 * LONGEST))


def _place(file: str, line: int) -> str:
    name = file.rsplit("/", 1)[-1]
    return f"{name}:{line}" if line > 0 else name


def _plural(amount: int, what: str) -> str:
    return f"{amount} {what}" if amount == 1 else f"{amount} {what}s"
