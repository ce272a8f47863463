"""What exact call counts add to a verdict: which function calls more often, and which call takes longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from whyperf.diagnose.verdict import CallChange, CallCounts
from whyperf.engines.call_counts.changes import BlamedChange, ChangeKind, divide
from whyperf.engines.call_counts.counted import CountedProgram, CountedRuns, counted_program
from whyperf.engines.excess.exact_calls import ExactCalls
from whyperf.engines.quantities import how_many, seconds, times
from whyperf.engines.recording_protocol import Recorded
from whyperf.engines.run import Run
from whyperf.recording.names.hash_tables import hash_of, walks_bucket
from whyperf.recording.names.identity import FunctionKey
from whyperf.recording.names.template_names import without_template_arguments

_ROUNDING = 1e-9
_RARE = 0.1  # calls per call below which people count the other way round
_TIMES = " times per call"
_KEPT = 50  # rows of a verdict; what is left out is counted


def call_counts(program: CountedProgram, runs: tuple[int, int], unit: str) -> CallCounts | None:
    """Divide the CPU time that bad runs take longer among what changed; None where counted code takes no longer.
    `runs`: counting ones, good and bad."""
    divided = divide(program)
    if divided.excess_s <= 0:
        return None
    rows = [*(change for one in divided.functions for change in one.changes), *divided.outside]
    rows.sort(key=lambda change: (-change.part_s, change.function, change.callee or 0))
    named = (_named(program, change, divided.excess_s, unit) for change in rows)
    changes = tuple(change for change in named if abs(change.share) > _ROUNDING)
    # The largest savings are worth knowing too: they stand at the end.
    kept = changes if len(changes) <= _KEPT else (*changes[: _KEPT - 10], *changes[-10:])
    left = sum(change.share for change in changes) - sum(change.share for change in kept)
    return CallCounts(runs, divided.excess_s, kept, len(changes) - len(kept), left)


def calls_per_unit(
    good: Sequence[Run], bad: Sequence[Run], counted_good: Sequence[Recorded], counted_bad: Sequence[Recorded]
) -> dict[FunctionKey, tuple[float, float]]:
    """How often each function was called in good and in bad runs."""
    program = program_of(good, bad, counted_good, counted_bad)
    calls = zip(program.baseline.activations.tolist(), program.slow.activations.tolist(), strict=True)
    functions = program.index.functions
    return {one.key: both for one, both in zip(functions, calls, strict=True) if max(both) > 0}


def exact_calls(program: CountedProgram) -> dict[tuple[FunctionKey, FunctionKey], ExactCalls]:
    """Between functions, without calls through pointers: of those it is only estimated who makes how many."""
    made: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    estimated = set[tuple[int, int]]()
    for site, *calls in zip(program.sites, program.baseline.calls.tolist(), program.slow.calls.tolist(), strict=True):
        both = made[site.caller, site.callee]
        both[:] = (before + more for before, more in zip(both, calls, strict=True))
        if site.by_pointer:
            estimated.add((site.caller, site.callee))
    functions, activations = program.index.functions, program.slow.activations.tolist()
    return {
        (functions[caller].key, functions[callee].key): ExactCalls(good, bad, bad / activations[caller] if bad else 0.0)
        for (caller, callee), (good, bad) in made.items()
        if (caller, callee) not in estimated
    }


def program_of(
    good: Sequence[Run], bad: Sequence[Run], counted_good: Sequence[Recorded], counted_bad: Sequence[Recorded]
) -> CountedProgram:
    runs = [[Run(one) for one in side] for side in (counted_good, counted_bad)]
    return counted_program(CountedRuns(good, runs[0]), CountedRuns(bad, runs[1]))


def _named(program: CountedProgram, change: BlamedChange, excess_s: float, unit: str) -> CallChange:
    functions, place = program.index.functions, change.place
    caller = functions[change.function]
    written = caller if place is None else functions[place.function]  # it, or what is inlined into it
    callee = "" if change.callee is None else functions[change.callee].key.name
    return CallChange(
        change.kind.value,
        written.key.name,
        written.key.module,
        0 if place is None else place.line,
        callee,
        change.baseline,
        change.slow,
        change.part_s / excess_s,
        _sentence(program, change, written.key.name, callee, unit),
        written.file,
    )


def _sentence(program: CountedProgram, change: BlamedChange, function: str, callee: str, unit: str) -> str:
    """`function` is the caller, or what is inlined into it."""
    was, now, caller = change.baseline, change.slow, program.index.functions[change.function].key.name
    if change.kind is ChangeKind.SELF:
        takes = f"takes {seconds(now)} of self time; was {seconds(was)}."
        if walks_bucket(function) and (hashed := hash_of(function)) and now > was > 0:
            walked = walked_nodes(program.iterations.get(change.function), now / was, hashed)
            return f"One call of {without_template_arguments(function)} {takes} {walked}"
        return f"One call of {function} {takes}"
    if change.kind is ChangeKind.OUTSIDE:
        return f"{function} is entered {times(now)} per {unit} from code that is not counted; was {how_many(was)}."
    of_whom = "" if function == caller else f" of {caller}"
    if now == 0:
        return f"{function} no longer calls {callee}; it did {_per_call(was)}{of_whom}."
    return f"{function} calls {callee} {calls_and_before(was, now, of_whom)}."


def calls_and_before(was: float, now: float, of_whom: str = "") -> str:
    """Calls per call, and how that differs from what it was."""
    calls = _per_call(now)
    if was == 0:
        return f"{calls}{of_whom}; it did not before"
    before = _per_call(was)
    if before != calls:
        return f"{calls}{of_whom}; was {before.removesuffix(_TIMES) if calls.endswith(_TIMES) else before}"
    # Where functions call one another, a small change of calls per call makes many calls.
    return f"{calls}{of_whom}, {100 * abs(now - was) / was:.2g}% {'more' if now > was else 'less'} often than before"


def walked_nodes(iterations: tuple[float, float] | None, longer: float, hashed: str) -> str:
    """A call goes on from the first node of its bucket to the next, and so on."""
    if iterations is None or iterations[1] <= iterations[0]:
        return f"It walks the nodes of a bucket, which takes {longer:.1f} times as long: look at {hashed}."
    before, after = (1 + one for one in iterations)
    return (
        f"It looks at {how_many(after)} nodes of a bucket per call; was {how_many(before)}. That is "
        f"{how_many(after / before)} times as many nodes per bucket: look at {hashed}."
    )


def _per_call(value: float) -> str:
    if value != 1 and how_many(value) in ("1", "1.00"):
        return "almost once per call" if value < 1 else "slightly more than once per call"
    if value < _RARE:
        return f"once in {how_many(1 / value)} calls"
    return "once per call" if value == 1 else f"{how_many(value)}{_TIMES}"
