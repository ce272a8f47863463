"""Who decides, by exact counts: a function that takes a costly way more often than it did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from whyperf.diagnose.joining.leading import ranked, suspect_at
from whyperf.diagnose.joining.pattern import together
from whyperf.diagnose.joining.shares import answering_for
from whyperf.diagnose.verdict import CallChange, CallCounts, Evidence, Verdict
from whyperf.engines.excess.compare import Excess
from whyperf.engines.finding import Detail
from whyperf.engines.run import Run
from whyperf.engines.shown_lines import lines_around
from whyperf.engines.values.patterns import WRONG_CONSTRAINT

_MOST = 0.5
_ENGINE = "counts"
_DOUBT = "counts show that it decides differently, but not why; whyperf prove may tell"


def with_decider(verdict: Verdict, bad: Sequence[Run], excess: Excess | None) -> Verdict:
    """Comes first, where there is one: the others pay for what it decides."""
    decision = None if verdict.counts is None else _decision(verdict.counts, _able(excess))
    if decision is None or not verdict.suspects:
        return verdict
    share = min(1.0, decision.share)
    first = verdict.suspects[0]
    why = f"{decision.sentence} By exact counts, that is most of the excess."
    known = next((one for one in verdict.suspects if one.function == decision.function), None)
    if known is None:
        leads = replace(
            suspect_at(decision, first, why, _ENGINE),
            path=_path_to(decision.function, first.path),
            lines=lines_around(bad, decision.file, decision.line, {decision.line: 1.0}),
            pattern=WRONG_CONSTRAINT,
            doubt=_DOUBT,
        )
    else:
        leads = replace(
            known,
            why=why,
            pattern=together(known.pattern, WRONG_CONSTRAINT),
            evidence=(*known.evidence, Evidence(_ENGINE, 1, known.score, Detail(), why)),
        )
    others = [one for one in verdict.suspects if one is not known]
    return ranked(verdict, [answering_for(leads, share), *others])


def _path_to(function: str, path: tuple[str, ...]) -> tuple[str, ...]:
    return path[: path.index(function) + 1] if function in path else ()


def _able(excess: Excess | None) -> Collection[tuple[str, str]]:
    """Modules and names of the functions that two builds have different code of; none: all are able. Code that is the
    same decides differently only because of what it is given."""
    functions = [] if excess is None else [excess.index.functions[number].key for number in excess.code.changed]
    return {(one.module, one.name) for one in functions}


def _decision(counts: CallCounts, able: Collection[tuple[str, str]]) -> CallChange | None:
    """A line that no loop of its function repeats, so that it makes its call at most once each time, by a condition;
    and that makes most of the excess. Calls through pointers have no line: whoever chose the pointer decides."""
    decisions = (
        one
        for one in counts.changes
        if one.kind == "calls" and one.line and one.in_loop is False and one.good < one.bad
        if not able or (one.module, one.function) in able
    )
    return next((one for one in decisions if one.share >= _MOST), None)
