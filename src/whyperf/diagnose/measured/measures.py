"""What every run used, per unit of work, and whether the samples account for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.measured.threads import queued_s
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.diagnose.verdict import PEAK_BYTES
from whyperf.engines.machine_speed import slowness
from whyperf.engines.run import ONE_RUN, Run, common_unit, ended_by_themselves
from whyperf.recording.schemas.tables import Clock

_TIMES = ("cpu_s", "sampled_cpu_s", "wall_s", "own_s")
_ENOUGH_SAMPLES = 100  # 10% noise: enough to say that sampled and measured time disagree


@dataclass(frozen=True)
class Measures:
    unit: str
    per_unit: bool
    cpu: Measure
    wall: Measure
    cpu_wait: Measure  # part of wall: ready to run, but other programs had the CPUs
    thread_cpu_wait: Measure  # the same of any thread: part of wall only where the main thread waited for that thread
    total_cpu: Measure  # not divided by units of work
    units: Measure
    memory: Measure  # its peak, in bytes; not divided by units of work; 0 where it is unknown
    notes: tuple[str, ...]


def is_measurable(measure: str) -> bool:
    """Whether single runs tell what a verdict's symptom is measured in, so that forced runs can be compared by it."""
    return measure in _TIMES or measure == PEAK_BYTES or measure.startswith(PREFIX)


def take_measures(good: Sequence[Run], bad: Sequence[Run], settings: DiagnoseSettings) -> Measures:
    runs = (*good, *bad)
    unit = common_unit(runs)
    per_unit = unit != ONE_RUN
    notes: list[str] = []
    if any(run.work.unit != unit for run in runs):
        notes.append("The runs count different units of work: compared run by run instead of per unit.")

    def collect(name: str, value: Callable[[Run], float], *, divided: bool = True) -> Measure:
        figures = [
            tuple(value(run) / (run.work.count if per_unit and divided else 1.0) for run in side)
            for side in (good, bad)
        ]
        return Measure(name, figures[0], figures[1])

    name, cpu_s, doubts = _cpu_source(runs, settings)
    return Measures(
        unit=unit,
        per_unit=per_unit,
        cpu=collect(name, cpu_s),
        wall=collect("wall_s", lambda run: run.manifest.totals.wall_s),
        cpu_wait=collect("cpu_wait_s", _cpu_wait_source(runs)),
        thread_cpu_wait=collect("cpu_wait_s", lambda run: run.manifest.totals.cpu_wait_s),
        total_cpu=collect(name, cpu_s, divided=False),
        units=collect("units", lambda run: run.work.count, divided=False),
        memory=collect(PEAK_BYTES, lambda run: run.manifest.totals.max_rss_bytes, divided=False),
        notes=(*notes, *doubts),
    )


def without_queue(good: Sequence[Run], bad: Sequence[Run], measures: Measures) -> Measures | None:
    """The same with wall time that leaves out the run queue; None where threads are unknown."""
    figures = []
    for side in (good, bad):
        queued = [queued_s(run.manifest.totals, run.manifest.stopped_by) for run in side]
        if None in queued:
            return None
        figures.append(
            tuple(
                max(run.manifest.totals.wall_s - (waited or 0.0), 0.0) / (run.work.count if measures.per_unit else 1.0)
                for run, waited in zip(side, queued, strict=True)
            )
        )
    nothing = Measure("cpu_wait_s", (0.0,) * len(good), (0.0,) * len(bad))
    return replace(measures, wall=Measure("own_s", *figures), cpu_wait=nothing, thread_cpu_wait=nothing)


def steadied_cpu(good: Sequence[Run], bad: Sequence[Run], measures: Measures) -> Measure | None:
    """CPU time as it would be if the machine had been as fast in all runs; None where that cannot be told."""
    slow, cpu = slowness(good, bad, per_unit=measures.per_unit), measures.cpu
    if slow is None:
        return None
    figures = [tuple((np.array(side) / by).tolist()) for side, by in zip((cpu.good, cpu.bad), slow, strict=True)]
    return Measure(cpu.name, figures[0], figures[1])


def sampled_cpu(run: Run) -> float:
    return run.time(Clock.CPU).total_s


def _cpu_wait_source(runs: Sequence[Run]) -> Callable[[Run], float]:
    """The main threads' time in the run queue, where the clock stopped with them; else the longest of any thread."""
    known = all(run.manifest.totals.main_cpu_wait_s is not None for run in runs)
    if known and ended_by_themselves(runs):
        return lambda run: run.manifest.totals.main_cpu_wait_s or 0.0
    return lambda run: run.manifest.totals.cpu_wait_s


def _cpu_source(runs: Sequence[Run], settings: DiagnoseSettings) -> tuple[str, Callable[[Run], float], list[str]]:
    """The system's exact CPU times, unless processes that nobody waited for made the samples the better witness."""
    limit = settings.sampled_disagreement
    judged = [run for run in runs if run.time(Clock.CPU).total_samples >= _ENOUGH_SAMPLES]
    if any(sampled_cpu(run) > (1 + limit) * run.manifest.totals.cpu_s for run in judged):
        note = (
            "More CPU time was sampled than the system reports for the program and the children it waited for: "
            "compared by sampled time."
        )
        return "sampled_cpu_s", sampled_cpu, [note]
    unseen = [
        run
        for run in runs
        if run.manifest.totals.cpu_s * run.manifest.sampling.rate_hz >= _ENOUGH_SAMPLES
        and sampled_cpu(run) < (1 - limit) * run.manifest.totals.cpu_s
    ]
    notes = []
    if unseen:
        part = 1 - min(sampled_cpu(run) / run.manifest.totals.cpu_s for run in unseen)
        notes.append(f"Samples miss up to {100 * part:.0f}% of a run's CPU time: in programs or threads not followed.")
    return "cpu_s", lambda run: run.manifest.totals.cpu_s, notes


def resident_grew(peak: Measure, settings: DiagnoseSettings) -> bool:
    """Whether a recording of memory would have something to explain."""
    known = min(*peak.good, *peak.bad) > 0
    return known and not peak.single and judge(peak, settings.held_memory).change is Direction.GREW
