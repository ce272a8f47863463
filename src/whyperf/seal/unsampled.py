"""CPU time that the system counted and no sample stands for."""

from __future__ import annotations

import math

_SHARE = 0.1
"""Of all CPU time: the kernel's own at the start and end of a program, and what clocks differ by."""
_PERIODS = 4
"""Each thread's time is sampled to within a period, by chance: so many for one, more by the square root."""
_START_S = 0.003
"""No process takes longer to load its libraries, the sampler among them, and to be cleared away."""


def unsampled_cpu_s(cpu_s: float, sampled_s: float, period_s: float, threads: int) -> float:
    """0 where chance and the edges of a run explain it."""
    missing = cpu_s - sampled_s
    return missing if missing > _SHARE * cpu_s + _PERIODS * period_s * math.sqrt(max(1, threads)) else 0.0


def why_unsampled(missing_s: float, cpu_s: float, processes: int, unfollowed: int) -> str:
    """Empty where it is what starting so many processes takes: of those, few say anything that would be compared."""
    said = f"{missing_s:.2f} s of {cpu_s:.2f} s CPU time have no samples"
    if missing_s <= _START_S * processes:
        return ""
    if unfollowed:
        return f"{said}: programs that were not followed."
    return (
        f"{said}: perhaps a process that was made by a system call of its own instead of the C library's fork(), which "
        "cannot be followed. Record with --trace to see it."
    )
