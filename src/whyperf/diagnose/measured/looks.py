"""How much time in a system call the looks at threads can miss.

The recorder looks at least ten times a second at the call that each thread is blocked in, so a look stands for up to a
tenth of a second, and a shorter wait may fall between two looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from whyperf.engines.run import Run

LOOK_S = 0.1  # between two looks, at most: `_TICK_S` of the runner
_ENOUGH = 5  # looks: they vary by 45%
# Looks that would have seen it on average: none does so in one of 20 cases, e^-3 = 5%.
_NONE_SEEN = 3.0


def at_most(seen_s: Sequence[float], runs: Sequence[Run], units: Sequence[float]) -> float | None:
    """The most per unit of work that can have passed in calls that were seen for `seen_s` in each run; None where
    enough looks saw them.

    Threads may wait all at the same moment, so what falls between two looks may do so for each of them. None waits for
    longer than its run lasts. Time on a CPU and in the run queue is not taken off: the kernel counts it from before the
    window, while the program is being started.
    """
    threads = max(sum(len(run.manifest.totals.threads) for run in runs) / len(runs), 1.0)
    looks = sum(seen_s) / LOOK_S / threads
    if looks >= _ENOUGH:
        return None
    missed_s = (2 * sqrt(looks) + _NONE_SEEN) * LOOK_S * threads / len(runs)
    lasted = [run.manifest.totals.wall_s * max(len(run.manifest.totals.threads), 1) for run in runs]
    by_run = [min(seen + missed_s, max(longest, seen)) for seen, longest in zip(seen_s, lasted, strict=True)]
    most = sum(most / count for most, count in zip(by_run, units, strict=True)) / len(runs)
    return most if most > 0 else None
