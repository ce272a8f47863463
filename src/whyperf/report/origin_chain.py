"""Who set what decides, hop by hop, and what forcing it showed: lines of the terminal report."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator

from rich.text import Text

from whyperf.diagnose.origin import Hop, Origin, Proof, ProofFinding, supplied
from whyperf.diagnose.verdict import Suspect
from whyperf.report.console import ReportConsole
from whyperf.report.glyphs import Glyphs, encodable, glyphs_for
from whyperf.report.printable import printable
from whyperf.report.shorten import cut, short_name

_INDENT = "     "
_WIDEST = 120
_TURN = "  turns bad here"
_FINDING_STYLES = {
    ProofFinding.PROVEN: "bold green",
    ProofFinding.SUPPORTED: "green",
    ProofFinding.REFUTED: "yellow",
    ProofFinding.TRIGGER: "cyan",
    ProofFinding.NOT_TESTABLE: "dim",
}


def show_origin(origin: Origin) -> None:
    """A chain alone, on standard output."""
    console = ReportConsole(file=sys.stdout, highlight=False, markup=False, emoji=False)
    for line in _chain(origin, min(console.width, _WIDEST), glyphs_for(console.encoding)):
        console.print(encodable(line, console.encoding), soft_wrap=True)


def origin_chain(suspect: Suspect, width: int, glyphs: Glyphs) -> Iterator[Text]:
    if suspect.origin is not None:
        yield Text()
        yield from _chain(suspect.origin, width, glyphs)
    if suspect.proofs:
        yield Text()
    for proof in suspect.proofs:
        yield from _proof(proof, width)


def _chain(origin: Origin, width: int, glyphs: Glyphs) -> Iterator[Text]:
    if origin.hops:
        runs = f" ({origin.runs} {'run' if origin.runs == 1 else 'runs'}{' of one command' if origin.is_alone else ''})"
        # None of its own where other chains have seen all of it.
        yield Text(f"{_INDENT}Where it comes from", "bold").append(runs if origin.runs else "", "dim")
        yield from _hops(origin, width, glyphs)
    yield from _wrapped(origin.sentence, width, "")


def _hops(origin: Origin, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """A row each: where, what, its value in bad runs and in good ones, if any; below it the source."""
    wheres = [where(hop) for hop in origin.hops]
    name_width = min(max(len(printable(hop.function)) for hop in origin.hops), width // 4)
    where_width = min(max(map(len, wheres)), width // 4)
    for number, (hop, place) in enumerate(zip(origin.hops, wheres, strict=True)):
        row = Text(_INDENT + ("<- " if number else "   "), "dim")
        row.append(f"{short_name(printable(hop.function), name_width, glyphs.dots):{name_width}}  ", "bold")
        row.append(f"{cut(place, where_width, glyphs.dots):{where_width}}  ", "cyan")
        first, *others = textwrap.wrap(printable(said(hop)), width - len(row)) or [""]
        indent = " " * len(row)
        yield row.append(first)
        for other in others:
            yield Text(indent + other)
        turns = _TURN if number == origin.turn and number else ""
        if hop.source.strip() or turns:
            below = f"{_INDENT}   {glyphs.rule} "
            source = cut(printable(hop.source.strip()), width - len(below) - len(turns), glyphs.dots)
            yield Text(below + source, "dim").append(turns if source else turns.lstrip(), "bold red")


def _proof(proof: Proof, width: int) -> Iterator[Text]:
    yield from _wrapped(proof.sentence, width, _FINDING_STYLES[proof.finding])


def _wrapped(sentence: str, width: int, style: str) -> Iterator[Text]:
    for line in textwrap.wrap(printable(sentence), width, initial_indent=_INDENT, subsequent_indent=_INDENT):
        yield Text(line, style)


def where(hop: Hop) -> str:
    if not hop.file:
        return printable(hop.module)
    name = printable(hop.file.rsplit("/", 1)[-1])
    return f"{name}:{hop.line}" if hop.line else name


def said(hop: Hop) -> str:
    by = "by a run under Valgrind" if hop.deep else ""
    how = ", ".join(one for one in (supplied(hop.share), by) if one)
    return f"{hop.what}: {hop.bad}{hop.compared}{f' ({how})' if how else ''}"
