"""What exact call counts add to a verdict: which function calls more often, and which call takes longer."""

from __future__ import annotations

from collections.abc import Sequence

from whyperf.diagnose.verdict import CallChange, CallCounts
from whyperf.engines.blame.changes import Change, ChangeKind, divide
from whyperf.engines.blame.counted import CountedProgram, Runs, counted_program
from whyperf.engines.quantities import count, seconds
from whyperf.engines.recorded import Recorded
from whyperf.engines.run import Run

_ROUNDING = 1e-9
_KEPT = 50  # rows of a verdict; what is left out is counted


def call_counts(
    good: Sequence[Run], bad: Sequence[Run], counted_good: Sequence[Recorded], counted_bad: Sequence[Recorded]
) -> CallCounts | None:
    """Divide the CPU time that bad runs take longer among what changed; None where counted code takes no longer."""
    sides = Runs(good, [Run(one) for one in counted_good]), Runs(bad, [Run(one) for one in counted_bad])
    program = counted_program(*sides)
    divided = divide(program)
    if divided.excess_s <= 0:
        return None
    rows = [*(change for one in divided.functions for change in one.changes), *divided.outside]
    rows.sort(key=lambda change: (-change.part_s, change.function, change.callee or 0))
    unit = bad[0].work.unit
    named = (_named(program, change, divided.excess_s, unit) for change in rows)
    changes = tuple(change for change in named if abs(change.share) > _ROUNDING)
    # The largest savings are worth knowing too: they stand at the end.
    kept = changes if len(changes) <= _KEPT else (*changes[: _KEPT - 10], *changes[-10:])
    left = sum(change.share for change in changes) - sum(change.share for change in kept)
    return CallCounts((len(counted_good), len(counted_bad)), divided.excess_s, kept, len(changes) - len(kept), left)


def _named(program: CountedProgram, change: Change, excess_s: float, unit: str) -> CallChange:
    function = program.index.functions[change.function].key
    callee = "" if change.callee is None else program.index.functions[change.callee].key.name
    return CallChange(
        change.kind.value,
        function.name,
        function.module,
        change.line,
        callee,
        change.baseline,
        change.slow,
        change.part_s / excess_s,
        _sentence(change, function.name, callee, unit),
    )


def _sentence(change: Change, function: str, callee: str, unit: str) -> str:
    was, now = change.baseline, change.slow
    if change.kind is ChangeKind.SELF:
        return f"One call of {function} takes {seconds(now)} of self time; was {seconds(was)}."
    if change.kind is ChangeKind.OUTSIDE:
        return f"{function} is entered {_times(now)} per {unit} from code that is not counted; was {_number(was)}."
    if was == 0:
        return f"{function} calls {callee} {_times(now)} per call; it did not before."
    if now == 0:
        return f"{function} no longer calls {callee}; it did {_times(was)} per call."
    return f"{function} calls {callee} {_times(now)} per call; was {_number(was)}."


def _times(value: float) -> str:
    return "once" if value == 1 else f"{_number(value)} times"


def _number(value: float) -> str:
    return count(float(f"{value:.3g}") if value < 1000 else round(value))
