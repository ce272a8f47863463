"""Every total of the runs that clearly changed, whatever the symptom is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from whyperf.diagnose.measured.looks import at_most
from whyperf.diagnose.measured.measure_names import measure_name
from whyperf.diagnose.measured.measures import Measures
from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.settings import DiagnoseSettings, Floors
from whyperf.diagnose.verdict import PEAK_BYTES, TotalChange
from whyperf.engines.kernel.system_calls import CHILDREN, LOCKS, SLEEPS, SOCKETS, STORAGE
from whyperf.engines.quantities import below, count, in_bytes, seconds
from whyperf.engines.run import Run
from whyperf.recording.sealed.manifest import ThreadTimes

_CALLS = {
    "lock_wait_s": LOCKS,
    "storage_wait_s": STORAGE,
    "child_wait_s": CHILDREN,
    "sleep_s": SLEEPS,
    "socket_wait_s": SOCKETS,
}
# Below these a total is too small to matter, however much it changed: what a tick, a page cache or an allocator does.
_LEAST = {"major_faults": 100, "context_switches": 1000, "read_bytes": 8 << 20, "written_bytes": 8 << 20}
_LEAST_S = 0.05


def total_changes(
    good: Sequence[Run], bad: Sequence[Run], measures: Measures, settings: DiagnoseSettings
) -> tuple[TotalChange, ...]:
    """Of those that are certain, the largest first."""

    units = [[run.work.count if measures.per_unit else 1.0 for run in side] for side in (good, bad)]

    def collect(name: str, figure: Callable[[Run], float]) -> Measure:
        figures = (
            tuple(figure(run) / by for run, by in zip(side, divided, strict=True))
            for side, divided in zip((good, bad), units, strict=True)
        )
        return Measure(name, *figures)

    every = [
        measures.cpu,
        measures.wall,
        measures.memory,
        collect("major_faults", lambda run: run.manifest.totals.major_faults),
        collect("read_bytes", lambda run: run.manifest.totals.read_bytes),
        collect("written_bytes", lambda run: run.manifest.totals.written_bytes),
    ]
    if all(run.manifest.totals.threads for run in (*good, *bad)):
        waits = {run: _waits(run.manifest.totals.threads) for run in (*good, *bad)}
        every += [collect(name, partial(_waited, waits, name)) for name in (*_CALLS, "run_queue_s")]
        every.append(collect("context_switches", lambda run: sum(one.turns for one in run.manifest.totals.threads)))
    changes = [one for measure in every if (one := _change(measure, measures, settings)) is not None]
    bounded = [_bounded(one, (good, bad), units) if one.measure in _CALLS else one for one in changes]
    return tuple(sorted(bounded, key=lambda one: -_factor(one)))


def sentence(changes: Sequence[TotalChange], shown: str) -> str:
    """In one line, without what is the symptom itself."""
    said = [
        f"{measure_name(one.measure)} {_amount(one, one.bad, one.bad_below)}, "
        f"was {_amount(one, one.good, one.good_below)}"
        for one in changes
        if one.measure != shown
    ]
    return f"Also changed: {'; '.join(said)}." if said else ""


def _change(measure: Measure, measures: Measures, settings: DiagnoseSettings) -> TotalChange | None:
    units = measures.units.bad_mean if measures.per_unit and measure is not measures.memory else 1.0
    floors = {
        "cpu_s": settings.cpu,
        "sampled_cpu_s": settings.cpu,
        "wall_s": settings.wall,
        "own_s": settings.wall,
        PEAK_BYTES: settings.memory,
    }
    least = settings.memory_bytes if measure.name == PEAK_BYTES else _LEAST.get(measure.name, _LEAST_S)
    if abs(measure.excess) * units < least:
        return None
    change = judge(measure, floors.get(measure.name, _OTHERS)).change
    if change not in (Direction.GREW, Direction.SHRANK):
        return None
    return TotalChange(measure.name, measure.good_mean, measure.bad_mean)


def _bounded(change: TotalChange, sides: Sequence[Sequence[Run]], units: Sequence[Sequence[float]]) -> TotalChange:
    """With what it may be at most, where few looks saw it."""
    good, bad = (
        at_most([_waits(run.manifest.totals.threads)[change.measure] for run in side], side, divided)
        for side, divided in zip(sides, units, strict=True)
    )
    return replace(change, good_below=good, bad_below=bad)


_OTHERS = Floors(relative=0.5, single_relative=1.5)  # these vary more than time does from run to run


def _waits(threads: Sequence[ThreadTimes]) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for thread in threads:
        found["run_queue_s"] += thread.runnable_s
        for name, calls in _CALLS.items():
            found[name] += sum(thread.blocked_s.get(call, 0.0) for call in calls)
    return found


def _waited(waits: Mapping[Run, Mapping[str, float]], name: str, run: Run) -> float:
    return waits[run][name]


def _factor(change: TotalChange) -> float:
    less, more = sorted((change.good, change.bad))
    return more / less if less > 0 else float("inf")


def _amount(change: TotalChange, value: float, most: float | None) -> str:
    other = max(change.good, change.bad)
    if most is not None and value < other:
        return below(most, seconds) if most < other else "too little to measure"
    if change.measure in _CALLS and value > 0:
        return f"about {seconds(value)}"
    if change.measure.endswith("_s"):
        return seconds(value)
    return in_bytes(value) if change.measure.endswith("bytes") else count(round(value, 1))
