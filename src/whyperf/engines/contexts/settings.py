"""The constants of the method, each with its source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntFlag


class Sources(IntFlag):
    """Which events' stacks latencies are inferred from (the paper's section 5.3)."""

    SYSTEM_CALLS = 1  # the paper's SYS
    SWITCHES = 2  # with system calls: LCTX
    SAMPLES = 4  # with both: HCTX; the paper had no clock samples and switched more often instead
    ALL = 7


_NAMES = {"syscalls": Sources.SYSTEM_CALLS, "switches": Sources.SWITCHES, "samples": Sources.SAMPLES}


def sources_named(names: Collection[str] | None) -> Sources:
    """All of them where none is named."""
    if not names:
        return Sources.ALL
    chosen = Sources(0)
    for name in names:
        chosen |= _NAMES[name]
    return chosen


@dataclass(frozen=True)
class ContextsSettings:
    # A context must have become slower by this part of all the time of the good runs; the same figures as for wall
    # time in `diagnose`: less is never acted upon, and of two single runs nobody knows the spread.
    relative: float = 0.05
    single_relative: float = 0.35
    # ... and stand out of the noise by so many standard errors; with a single run of a kind the noise is that of its
    # waits and samples alone, so that one long stall is within it.
    sigma: float = 3.0
    # A single run's context that took at least so much of all the time more is slower however few its waits, as is wall
    # time in `diagnose`: one stall in one run of that size. Not in windows of time, nor by a handful of samples.
    single_certain: float = 0.8
    # A suspect is worth reading about from this share of the excess on.
    suspect_share: float = 0.02
    interval_sigma: float = 1.96
    # The loop of a thread is the innermost context that this part of everything seen of it lies under.
    loop_cover: float = 0.9
    # A place of a loop is for waiting if it runs at most this part of the time that it waits.
    idle_running: float = 0.2
    # So many iterations of threads' loops are enough to compare runs by.
    enough_iterations: int = 20
    # Contexts ranked, and shown.
    ranked: int = 50
    # Most threads that a wait is followed through.
    longest_chain: int = 64
