"""Who decides, by exact counts: a function that takes a costly way more often than it did."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from whyperf.diagnose.joining.leading import Decider, leading, led_by, suspect_at
from whyperf.diagnose.joining.pattern import together
from whyperf.diagnose.joining.shares import answering_for, left_after
from whyperf.diagnose.verdict import CallChange, CallCounts, Suspect, Verdict
from whyperf.engines.excess.compare import Excess
from whyperf.engines.run import Run
from whyperf.engines.shown_lines import lines_around
from whyperf.engines.values.patterns import WRONG_CONSTRAINT

_MOST = 0.5  # no choice: more than half is what "most" means
_ENGINE = "counts"
_DOUBT = "counts show that it makes the call more often, but not why"
_TOLD_BY = "; whyperf prove may tell"


def with_decider(verdict: Verdict, bad: Sequence[Run], excess: Excess | None) -> Verdict:
    """Comes first, where there is one: the others pay for what it decides."""
    decision = None if verdict.counts is None else _decision(verdict.counts, _able(excess))
    if decision is None or not verdict.suspects:
        return verdict
    known = suspect_at(verdict, decision)
    payers = [one for one in _payers(verdict, decision) if one is not known]
    decider = Decider(
        decision,
        f"{decision.sentence} By exact counts, that is most of the excess.",
        _ENGINE,
        _DOUBT if any(run.manifest.redaction for run in bad) else _DOUBT + _TOLD_BY,
        lines_around(bad, decision.file, decision.line, {decision.line: 1.0}),
    )
    leads = leading(verdict, decider, next(iter(payers), verdict.suspects[0]))
    pattern = WRONG_CONSTRAINT if known is None else together(known.pattern, WRONG_CONSTRAINT)
    share = min(1.0, decision.share)
    left = left_after(share if known is None else share - known.share, payers)
    return led_by(verdict, answering_for(replace(leads, pattern=pattern), share), left)


def _payers(verdict: Verdict, decision: CallChange) -> list[Suspect]:
    """Whom it calls, then who is called by that."""
    called = [one for one in verdict.suspects if one.function == decision.callee]
    below = [one for one in verdict.suspects if one.function != decision.callee and decision.callee in one.path]
    return [*called, *below]


def _able(excess: Excess | None) -> Collection[tuple[str, str]]:
    """Modules and names of the functions that two builds have different code of; none: all are able. Code that is the
    same decides differently only because of what it is given."""
    functions = [] if excess is None else [excess.index.functions[number].key for number in excess.code.changed]
    return {(one.module, one.name) for one in functions}


def _decision(counts: CallCounts, able: Collection[tuple[str, str]]) -> CallChange | None:
    """A line that makes a call more often than before, and on average still at most once each time, which a condition
    does rather than a loop; and that makes most of the excess. Calls through pointers have no line: whoever chose the
    pointer decides."""
    decisions = (
        one
        for one in counts.changes
        if one.kind == "calls" and one.line and one.good < one.bad <= 1.0
        if not able or (one.module, one.function) in able
    )
    return next((one for one in decisions if one.share > _MOST), None)
