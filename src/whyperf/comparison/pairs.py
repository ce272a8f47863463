"""Recording pairs of runs, in turns."""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from whyperf.collect.setup.lifecycle import RunOutcome
from whyperf.comparison.alternation import Side, order, pairs_for
from whyperf.comparison.endings import Outcomes, last_output
from whyperf.comparison.plan import ComparisonPlan, make_folder
from whyperf.comparison.progress import Steps
from whyperf.errors import WhyperfError


class RunError(WhyperfError):
    """A run of this side that cannot be compared."""

    def __init__(self, side: Side, sentence: str, next_command: str | None = None) -> None:
        super().__init__(sentence, next_command)
        self.side = side


def record_pairs(plan: ComparisonPlan, outcomes: Outcomes, shown: Steps) -> dict[Side, list[Path]]:
    """Records all runs in turns, adds them to `outcomes` as they end, and seals them afterwards."""
    make_folder(plan.folder)
    seconds: dict[Side, list[float]] = {Side.GOOD: [], Side.BAD: []}
    turns = list(order(plan.runs or pairs_for(0)))
    done = 0
    while done < len(turns):
        if done % 2 == 0 and not _fits(plan.deadline, seconds):
            break
        side, number = turns[done]
        shown.step(f"run {done + 1} of {len(turns)}: {side.value}", done / len(turns), _left(turns[done:], seconds))
        began = time.monotonic()
        outcomes[side].append(_record(plan, side, number, shown))
        seconds[side].append(time.monotonic() - began)
        done += 1
        if plan.runs is None:
            # Long runs are worth fewer pairs; what has begun is finished as a pair.
            pairs = max(pairs_for(max(seconds[Side.GOOD] + seconds[Side.BAD])), (done + 1) // 2)
            turns = list(order(pairs))
    if plan.counts:
        _count(plan, len(outcomes[Side.GOOD]) + 1, outcomes, shown)
    return _sealed(outcomes, shown)


def record_counting_runs(plan: ComparisonPlan, number: int, outcomes: Outcomes, shown: Steps) -> dict[Side, list[Path]]:
    """One of each side, with this number."""
    _count(plan, number, outcomes, shown)
    return _sealed(outcomes, shown)


def _count(plan: ComparisonPlan, number: int, outcomes: Outcomes, shown: Steps) -> None:
    for side in Side:
        shown.step(f"counting the calls of a {side.value} run", 0.5 if side is Side.BAD else 0.0, None)
        outcomes[side].append(_record(plan, side, number, shown, counting=True))


def _sealed(outcomes: Outcomes, shown: Steps) -> dict[Side, list[Path]]:
    from whyperf.seal.opening import seal
    from whyperf.seal.symbols import DebugInfo

    symbols = DebugInfo()
    paths = {side: [outcome.path for outcome in runs] for side, runs in outcomes.items()}
    # In turns: the later ones know the code that was read for the earlier ones.
    pairs = itertools.zip_longest(paths[Side.GOOD], paths[Side.BAD])
    for done, path in enumerate(every := [path for pair in pairs for path in pair if path is not None]):
        shown.step(f"reading {path.name}", done / len(every), None)
        seal(path, symbols=symbols)
    return paths


def _fits(deadline: float | None, seconds: Mapping[Side, list[float]]) -> bool:
    """Whether another pair would end in time, if it takes as long as those before."""
    if deadline is None:
        return True
    return time.monotonic() + sum(statistics.mean(times) for times in seconds.values() if times) < deadline


def _left(turns: list[tuple[Side, int]], seconds: Mapping[Side, list[float]]) -> float | None:
    """How long the remaining runs will take, if they take as long as those of their kind, or of the other."""
    known = {side: statistics.mean(times) for side, times in seconds.items() if times}
    if not known:
        return None
    return sum(known.get(side, max(known.values())) for side, _ in turns)


def _recorder(plan: ComparisonPlan, side: Side, counting: bool) -> Callable[..., RunOutcome]:
    if counting:
        from whyperf.collect.counts.run import record_counts

        return partial(record_counts, unit=plan.measuring.unit)
    if plan.perf_hz:
        from whyperf.collect.perf_record.run import record_with_perf
        from whyperf.importers.perf_data.recorded import seal_recorded_by_perf

        return partial(record_with_perf, sample_hz=plan.perf_hz, unit=plan.measuring.unit, seal=seal_recorded_by_perf)
    from whyperf.collect.runs.runner import record_run

    measuring = plan.measuring
    if plan.adapted is not None:
        measuring = replace(measuring, reported_work=plan.adapted[side].iterations)
    return partial(record_run, measuring=measuring)


def _record(plan: ComparisonPlan, side: Side, number: int, shown: Steps, *, counting: bool = False) -> RunOutcome:
    outcome = _recorder(plan, side, counting)(
        plan.programs[side],
        plan.folder / f"{side.value}-{number}",
        lifecycle=plan.lifecycles[side],
        environment=dict(os.environ),
        capture_output=not plan.show_output,
        force=plan.force,
        on_tick=shown.tick,
    )
    try:
        _check_outcome(plan, side, number, outcome)
    finally:
        if plan.measuring.redact and (counting or plan.perf_hz):  # sealing removes it of others
            from whyperf.recording.sealed.writer import remove_output

            remove_output(outcome.path)
    return outcome


def _check_outcome(plan: ComparisonPlan, side: Side, number: int, outcome: RunOutcome) -> None:
    if outcome.stopped_by == "interrupt":
        raise KeyboardInterrupt
    if plan.adapted is not None and (outcome.work is None or outcome.failure is not None):
        missing = plan.adapted[side].missing
        raise RunError(side, f"{missing.sentence}{_wrote(outcome)}", missing.next_command)
    if outcome.failure is not None:
        sentence = f"The {side.value} run {number} failed: {outcome.failure.sentence}{_wrote(outcome)}"
        raise RunError(side, sentence, outcome.failure.next_command)


def _wrote(outcome: RunOutcome) -> str:
    tail = last_output(outcome.path)
    return f" It last wrote: {tail}" if tail else ""
