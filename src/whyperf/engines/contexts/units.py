"""What costs are divided by, so that runs of different length and load can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.engines.contexts.inference import Followed
from whyperf.engines.contexts.records import Flags
from whyperf.engines.contexts.settings import ContextsSettings
from whyperf.engines.run import ONE_RUN, Run

ITERATION = "iteration"
SHARE = "share"

# Endings by which a run has done what it was asked to do, however long that took.
_COMPLETE = frozenset({"exit", "driver"})


@dataclass(frozen=True)
class Unit:
    name: str  # what the driver counted, run, iteration or share
    count: Mapping[Run, float]

    @property
    def by_share(self) -> bool:
        """Runs are not comparable in seconds: only how their time is divided."""
        return self.name == SHARE


def ended_by_themselves(runs: Sequence[Run]) -> bool:
    return all(run.manifest.stopped_by == "exit" for run in runs)


def choose_unit(runs: Sequence[Run], followed: Mapping[Run, Followed], idle: Flags, settings: ContextsSettings) -> Unit:
    """Work that was counted; whole runs where each did its task; else iterations of threads' loops; else shares."""
    counted = {run.work.unit for run in runs}
    if len(counted) == 1 and ONE_RUN not in counted:
        return Unit(counted.pop(), {run: run.work.count for run in runs})
    if all(run.manifest.stopped_by in _COMPLETE for run in runs):
        return Unit(ONE_RUN, dict.fromkeys(runs, 1.0))
    iterations = {run: _iterations(followed[run], idle) for run in runs}
    if min(iterations.values()) >= settings.enough_iterations:
        return Unit(ITERATION, iterations)
    return Unit(SHARE, dict.fromkeys(runs, 1.0))


def _iterations(followed: Followed, idle: Flags) -> float:
    """Returns from idle places: as system calls where their stacks were recorded, they need not have blocked."""
    resting = np.append(idle, False)
    calls = float(followed.calls.count[resting[followed.calls.node]].sum())
    return calls or float(np.count_nonzero(resting[followed.waits["node"]] & (followed.waits["state"] != 0)))
