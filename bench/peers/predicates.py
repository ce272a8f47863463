"""Statistical debugging on sampled predicates (Song and Lu 2014, as vProf's Table 3.2 puts it).

Predicates are the signs of what conditions read: is it below, at or above zero? Functions are ranked only by how unlike
the good and the bad runs' shares of true predicates are, whatever they cost. Readings come from whyperf's recordings;
values that functions return are not in them, so those predicates are missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.peers.peer import Ranking, Trial
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Floats, Run
from whyperf.engines.values.kinds import ValueKind, numbers, ordered
from whyperf.engines.values.loading import SideReadings, has_values
from whyperf.engines.values.paper.costs import RawCosts
from whyperf.engines.values.paper.monitored import monitored
from whyperf.engines.values.readings import Readings
from whyperf.engines.values.settings import ValuesPaperSettings
from whyperf.engines.values.timeline import timeline
from whyperf.engines.values.variables import VariableIndex
from whyperf.recording.sealed.reader import Recording

_OBSERVED = 8  # times on either side: what is hardly seen predicts nothing
_DECIDING = {"condition", "loop"}


def ranking(trial: Trial) -> Ranking:
    recordings = trial.recordings()
    good, bad = (_with_values([Run(Recording(path)) for path in paths]) for paths in (recordings.good, recordings.bad))
    if not good or not bad:
        return Ranking(problem="no values recorded")
    functions = FunctionIndex(good, bad)
    variables = VariableIndex(functions)
    normal, buggy = (SideReadings(runs, functions, variables) for runs in (good, bad))
    first = SideReadings(bad[:1], functions, variables)
    holder = RawCosts(bad[0], functions, timeline(bad[0]), ValuesPaperSettings())
    score: dict[int, float] = {}
    for number in monitored(variables.variables):
        variable = variables.variables[number]
        if variable.roles and not variable.roles & _DECIDING:
            continue
        here, there = normal.of(number), buggy.of(number)
        if min(len(here), len(there)) < _OBSERVED:
            continue
        unlike = _distance(_signs(here, variable.kind), _signs(there, variable.kind))
        for function in holder.attributed_to(variable, first.of(number)):
            score[function] = max(score.get(function, 0.0), unlike)
    ranked = sorted((one for one in score if score[one] > 0), key=lambda one: (-score[one], one))
    return Ranking(tuple(dict.fromkeys(functions.functions[one].key.name for one in ranked)))


def _with_values(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if has_values(run)]


def _signs(readings: Readings, kind: ValueKind) -> Floats:
    return sign_shares(numbers(kind, ordered(kind, readings.raw)))


def sign_shares(values: Floats) -> Floats:
    """How often `< 0`, `== 0` and `> 0` were true."""
    return np.array([np.mean(values < 0), np.mean(values == 0), np.mean(values > 0)])


def _distance(one: Floats, other: Floats) -> float:
    """Hellinger's."""
    return float(np.sqrt(max(0.0, 1.0 - np.sum(np.sqrt(one * other)))))
