"""CPU time that no sample stands for: said where neither chance nor the edges of processes explain it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whyperf.collect.setup.rate import TIMER_LIMIT_HZ

_DEVIATIONS = 4
"""Each thread's time is sampled to within a period, by chance: more by the square root of how many there are."""
_PROCESS_S = 0.005
"""To load a process's libraries, the sampler among them, and to clear it away."""
_FREE_S_PER_BYTE = 50e-12
"""The kernel frees a process's memory when nothing can be sampled any more; twice what it was measured to take."""
_TICK_S = 0.01
"""The kernel tells user from system time by ticks, and what living processes used to within one of either."""
_SHARE = 0.02
"""Of all CPU time, for what clocks differ by."""


@dataclass(frozen=True)
class CpuTime:
    """What the system counted, what samples stand for, and what the difference depends on."""

    user_s: float
    system_s: float
    sampled_s: float
    rate_hz: float
    threads: int  # of which something was recorded
    processes: int
    started: int = 0  # threads, also those of which nothing was recorded; 0: unknown
    peak_bytes: int = 0  # of one process; 0: unknown
    user_only: bool = False  # nothing was sampled in the kernel
    whole: bool = True  # from the start of the program, not from a moment at which it was ready

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    @property
    def missing_s(self) -> float:
        return (self.user_s if self.user_only else self.cpu_s) - self.sampled_s


def unsampled_cpu_s(time: CpuTime) -> float:
    """CPU time that the system counted and no sample stands for; 0 where it is within `explained_s`."""
    return time.missing_s if time.missing_s > explained_s(time) else 0.0


def explained_s(time: CpuTime) -> float:
    """How much may be missing of a recording in which all was sampled that can be.

    Of 96 recordings of ordinary programs, alone and beside a load, half missed less than 10% of it and 95 less than 47%
    (`python -m bench.unsampled`, 2026-11-19). One missed more: above 250 Hz, threads shorter than a period are unseen.
    """
    # Timers fire with the kernel's ticks; a thread that mostly runs between them keeps a period at its end.
    period_s = 1 / (time.rate_hz if time.user_only else min(time.rate_hz, TIMER_LIMIT_HZ))
    processes = max(1, time.processes)
    threads = max(1, time.threads, min(time.started, time.cpu_s / period_s))
    chance = period_s * (max(0, time.threads - processes) + _DEVIATIONS * math.sqrt(threads))
    edges = _PROCESS_S * processes + min(time.system_s, _FREE_S_PER_BYTE * time.peak_bytes * processes)
    ticks = 0.0
    if time.user_only:
        ticks += _DEVIATIONS * math.sqrt(_TICK_S * (time.user_s * time.system_s / max(time.cpu_s, _TICK_S) + _TICK_S))
    if not time.whole:
        ticks += 2 * _TICK_S * processes
    return chance + edges + ticks + _SHARE * time.cpu_s


def why_unsampled(time: CpuTime, *, unfollowed: bool, limited_s: float = 0.0) -> str:
    """Empty where `limited_s` explains it: what threads may have used that are said to be sampled in part."""
    if time.missing_s <= limited_s:
        return ""
    said = f"{time.missing_s:.2f} s of {time.cpu_s:.2f} s CPU time have no samples"
    if unfollowed:
        return f"{said}: programs that were not followed."
    shorter = (
        f" Threads shorter than 1/{time.rate_hz:g} s are sampled up to {TIMER_LIMIT_HZ} Hz." if time.user_only else ""
    )
    return (
        f"{said}: perhaps a process that has itself traced, or that was made by a system call of its own instead of "
        f"the C library's fork(); neither can be sampled. Record with --trace to see it.{shorter}"
    )
