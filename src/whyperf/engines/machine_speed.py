"""How slow the machine was during each run, told by what all of them do alike.

On a shared machine whole runs differ by tens of percent; whatever a run does is slowed by the same factor, what it
does alike in good and bad runs too. Alike is what grew as the middle of the program did, half of what both have by more
and half by less, but for chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Run, sums
from whyperf.recording.schemas.tables import Clock

_CHANCE = 2.0  # standard errors by which growth may differ ...
_SLIGHTLY = 0.1  # ... and beyond them, caches being shared as well
_ENOUGH_SAMPLES = 100  # of a run: 10% noise
_ENOUGH = 0.25  # of a run's time


def slowness(good: Sequence[Run], bad: Sequence[Run], *, per_unit: bool) -> tuple[Floats, Floats] | None:
    """Of each run beside the mean of all; None where they have too little in common to tell."""
    runs = (*good, *bad)
    index = FunctionIndex(good, bad)
    work = np.array([run.work.count if per_unit else 1.0 for run in runs])
    times = np.array([_own_times(index, run) for run in runs]) * (work.mean() / work)[:, np.newaxis]
    sample = _seconds_a_sample(runs)
    if sample == 0:
        return None
    common = times[:, _alike(times[: len(good)], times[len(good) :], sample)].sum(axis=1)
    if (common < np.maximum(_ENOUGH * times.sum(axis=1), _ENOUGH_SAMPLES * sample)).any():
        return None
    slow: Floats = common / common.mean()
    return slow[: len(good)], slow[len(good) :]


def _alike(good: Floats, bad: Floats, sample: float) -> npt.NDArray[np.bool_]:
    """Which functions, of runs' times in them; `sample`: the time that one stands for."""
    before, after = good.mean(axis=0), bad.mean(axis=0)
    in_both = np.minimum(before / max(before.sum(), sample), after / max(after.sum(), sample))  # shares of the time
    growth = np.log(np.maximum(after, sample) / np.maximum(before, sample))
    order = np.argsort(growth)
    middle = growth[order][np.searchsorted(np.cumsum(in_both[order]), in_both.sum() / 2)]
    error = np.sqrt(sum(sample / np.maximum(side.sum(axis=0), sample) for side in (good, bad)))
    found: npt.NDArray[np.bool_] = (in_both > 0) & (np.abs(growth - middle) <= _CHANCE * error + _SLIGHTLY)
    return found


def _own_times(index: FunctionIndex, run: Run) -> Floats:
    """In each function's own code."""
    time = run.time(Clock.CPU)
    function_of, chains, frames = index.of_frame[run], run.frame_chain, run.stack_frame
    seen = time.stack >= 0
    leaves = np.array([function_of[chains[frames[stack]][-1]] for stack in time.stack[seen].tolist()], np.int64)
    return sums(leaves, time.seconds[seen], len(index.functions))


def _seconds_a_sample(runs: Sequence[Run]) -> float:
    times = [run.time(Clock.CPU) for run in runs]
    return sum(time.total_s for time in times) / max(sum(time.total_samples for time in times), 1.0)
