"""What kind of trouble it is: told from totals, before any engine is asked, since it decides who leads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from whyperf.diagnose.measured.measures import Measures
from whyperf.diagnose.measured.significance import Direction, Measure, judge
from whyperf.diagnose.measured.threads import Threads, added_by_threads
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.run import Run, ended_by_themselves
from whyperf.recording.sealed.manifest import Totals


class Nature(Enum):
    CPU = "cpu"
    WAIT = "wait"
    IO = "io"  # a wait for storage
    MEMORY = "memory"  # more of it, or a wait for it
    LATENCY = "latency"  # requests take longer because they wait
    EXTERNAL = "external"  # other programs, or what was not followed


@dataclass(frozen=True)
class TotalsGrowth:
    """What bad runs have more of: whether beyond doubt, and how much. Seconds are per unit of work."""

    cpu: Direction
    wall: Direction
    memory: Direction  # of its peak
    cpu_s: float
    wall_s: float
    cpu_wait_s: float  # ready to run without getting a CPU: part of the wall time
    paging_s: float  # wall time that the added major faults explain at most
    transfer_s: float  # wall time that the added bytes from and to storage explain at most
    cpus: float = 1.0  # in use at a time in the good runs, on average
    thread_cpu_wait_s: float = 0.0  # the same of any thread: part of the wall time if others waited for it
    threads: Threads | None = None  # what each thread alone did more of; None: unknown
    swaps: bool = False  # memory of the bad runs was in swap: pages are read from there, else from files
    machine_cpus: float = math.inf  # of the machine that has most; infinity: unknown
    usual_wall_s: float = 0.0  # for a second of CPU time in good runs, if who waited for a CPU is unknown; 0: known

    @property
    def running_s(self) -> float:
        """CPU time along the wall clock. Where threads are known, it is that of the thread which added most, and at
        least what it takes if all CPUs of the machine share the work: more threads than that wait for each other."""
        if self.threads is None:
            return self.cpu_s
        return min(self.cpu_s, max(self.threads.run_s, self.cpu_s / self.machine_cpus, 0.0))

    @property
    def computing_s(self) -> float:
        """The same where threads are unknown: as if they ran side by side as they did in the good runs."""
        return self.running_s if self.threads is not None else self.cpu_s / max(self.cpus, 1.0)

    def keeps_up(self, settings: DiagnoseSettings) -> bool:
        """Whether as much wall time for each second of CPU time as ever explains it, who waited for a CPU being
        unknown: on a machine that is busy all the time both grow alike."""
        explained_s = self.cpu_s * self.usual_wall_s
        return explained_s > 0 and explained_s >= settings.cpu_part_of_wall * self.wall_s


def nature_of(growth: TotalsGrowth, settings: DiagnoseSettings) -> Nature | None:
    """None: nothing grew beyond doubt."""
    if growth.wall is Direction.GREW and is_waited(growth, settings):
        return _wait(growth, settings)
    if growth.cpu is Direction.GREW:
        return Nature.CPU
    if growth.wall is Direction.GREW and growth.cpu_wait_s >= settings.cpu_part_of_wall * growth.wall_s:
        return Nature.EXTERNAL
    return Nature.MEMORY if growth.memory is Direction.GREW else None


def is_waited(growth: TotalsGrowth, settings: DiagnoseSettings) -> bool:
    """Whether the added wall time is the program's own waiting.

    On a busy machine more CPU time also means more waiting for a CPU: that is no wait of the program's. But a thread
    that sleeps or waits for storage does not wait for a CPU meanwhile, whatever others do.
    """
    if growth.cpu is Direction.GREW and growth.keeps_up(settings):
        return False
    enough = settings.cpu_part_of_wall * growth.wall_s
    if growth.threads is not None and growth.threads.blocked_s >= enough > growth.running_s:
        return True
    return growth.running_s + max(growth.cpu_wait_s, 0.0) < enough


def if_starved_threads_delay(growth: TotalsGrowth) -> TotalsGrowth:
    """What grew, if the others waited for the thread that was longest ready to run without getting a CPU."""
    return replace(growth, cpu_wait_s=max(growth.cpu_wait_s, growth.thread_cpu_wait_s))


def runs_less_side_by_side(growth: TotalsGrowth, settings: DiagnoseSettings) -> bool:
    """Whether CPU time of threads that run side by side as ever would leave most of the added wall time unexplained.

    Either they wait for each other, or what was added is done by one of them: totals cannot tell which.
    """
    if growth.keeps_up(settings):
        return False
    unknown = growth.threads is None
    running = growth.computing_s + max(growth.cpu_wait_s, 0.0)
    return unknown and growth.wall is Direction.GREW and running < settings.cpu_part_of_wall * growth.wall_s


def _wait(growth: TotalsGrowth, settings: DiagnoseSettings) -> Nature:
    enough = settings.io_part * growth.wall_s
    if growth.paging_s >= enough and growth.swaps:
        return Nature.MEMORY
    return Nature.IO if max(growth.transfer_s, growth.paging_s) >= enough else Nature.WAIT


def growth_of(good: Sequence[Run], bad: Sequence[Run], measures: Measures, settings: DiagnoseSettings) -> TotalsGrowth:
    def added(figure: Callable[[Totals], float]) -> float:
        means = [
            sum(figure(run.manifest.totals) / (run.work.count if measures.per_unit else 1.0) for run in side)
            / len(side)
            for side in (good, bad)
        ]
        return means[1] - means[0]

    threads = added_by_threads(good, bad, per_unit=measures.per_unit)
    starved_s, cpu_wait_s = measures.thread_cpu_wait.excess, measures.cpu_wait.excess
    if threads is not None:
        starved_s = threads.runnable_s
        cpu_wait_s = cpu_wait_s if ended_by_themselves((*good, *bad)) else threads.runnable_s
    return TotalsGrowth(
        cpu=judge(measures.cpu, settings.cpu).change,
        wall=_wall_change(measures, settings),
        memory=_memory_change(measures.memory, settings),
        cpu_s=measures.cpu.excess,
        wall_s=measures.wall.excess,
        cpu_wait_s=cpu_wait_s,
        paging_s=added(lambda totals: totals.major_faults) * settings.major_fault_s,
        transfer_s=added(lambda totals: totals.read_bytes + totals.written_bytes) * settings.io_s_per_byte,
        cpus=measures.cpu.good_mean / measures.wall.good_mean if measures.wall.good_mean > 0 else 1.0,
        thread_cpu_wait_s=starved_s,
        threads=threads,
        machine_cpus=max(max(run.manifest.host.cpus, 1) for run in (*good, *bad)),
        swaps=any(run.manifest.totals.swap_bytes for run in bad),
        usual_wall_s=0.0 if all(map(knows_switches, (*good, *bad))) else _usual_wall_s(measures),
    )


def knows_switches(run: Run) -> bool:
    """Whether the recording could tell who was ready to run: samples that another tool took alone cannot."""
    trace, totals = run.manifest.trace, run.manifest.totals
    is_ours = trace is None or trace.source != "perf.data"
    return is_ours or totals.voluntary_switches + totals.involuntary_switches > 0


def _usual_wall_s(measures: Measures) -> float:
    return measures.wall.good_mean / measures.cpu.good_mean if measures.cpu.good_mean > 0 else 0.0


def _wall_change(measures: Measures, settings: DiagnoseSettings) -> Direction:
    units = measures.units.bad_mean if measures.per_unit else 1.0
    tiny = abs(measures.wall.excess) * units < settings.least_wait_s
    return Direction.SAME if tiny else judge(measures.wall, settings.wall).change


def _memory_change(peak: Measure, settings: DiagnoseSettings) -> Direction:
    known = min(*peak.good, *peak.bad) > 0
    if not known or abs(peak.excess) < settings.memory_bytes:
        return Direction.SAME
    return judge(peak, settings.memory).change
