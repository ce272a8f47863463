"""What costs are divided by, so that runs of different length and load can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.engines.contexts.chains import CountedChain
from whyperf.engines.contexts.iterations import Iterations
from whyperf.engines.run import ONE_RUN, Floats, Run, common_unit

ITERATION = "iteration"
SHARE = "share"

# Endings by which a run has done what it was asked to do, however long that took.
_COMPLETE = frozenset({"exit", "driver"})


@dataclass(frozen=True)
class Unit:
    name: str  # what the driver counted, run, iteration or share
    count: Mapping[Run, float]
    factor: Mapping[Run, float | Floats]
    """What seconds are multiplied by, for every node alike or by node; 0 for what cannot be compared."""

    @property
    def complete(self) -> bool:
        """Whether runs were done with something: in a window of time anything may have begun or ended by chance."""
        return self.name not in (ITERATION, SHARE)

    @property
    def by_share(self) -> bool:
        """Runs are not comparable in seconds: only how their time is divided."""
        return self.name == SHARE


def choose_unit(runs: Sequence[Run], counted: Mapping[Run, CountedChain], iterations: Iterations) -> Unit:
    """Work that was counted; whole runs where each did its task; else iterations of threads' loops; else shares."""
    unit = common_unit(runs)
    if unit != ONE_RUN:
        return _divided(unit, {run: run.work.count for run in runs})
    if all(run.manifest.stopped_by in _COMPLETE for run in runs):
        return _divided(ONE_RUN, dict.fromkeys(runs, 1.0))
    if iterations.comparable:
        return Unit(ITERATION, iterations.count, iterations.factor)
    seconds = {run: float(part.blocked.sum() + part.running.sum()) / 1e9 for run, part in counted.items()}
    return _divided(SHARE, {run: max(1e-9, total) for run, total in seconds.items()})


def _divided(name: str, count: Mapping[Run, float]) -> Unit:
    return Unit(name, count, {run: 1.0 / number for run, number in count.items()})
