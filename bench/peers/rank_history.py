"""vProf's hist-discounter alone (section 3.4.1; an ablation in Table 3.3): PC samples, and how ranks moved."""

from __future__ import annotations

from bench.peers.peer import Ranking, Trial
from whyperf.engines.functions import FunctionIndex
from whyperf.engines.run import Run
from whyperf.engines.values.paper.costs import RawCosts, history_discount
from whyperf.engines.values.settings import ValuesPaperSettings
from whyperf.engines.values.timeline import timeline
from whyperf.recording.sealed.reader import Recording


def ranking(trial: Trial) -> Ranking:
    recordings, settings = trial.recordings(), ValuesPaperSettings()
    good, bad = ([Run(Recording(path)) for path in paths] for paths in (recordings.good, recordings.bad))
    functions = FunctionIndex(good, bad)
    normal, buggy = (
        [RawCosts(run, functions, timeline(run), settings).seconds() for run in runs] for runs in (good, bad)
    )
    cost = {
        number: float(raw) * (1.0 - history_discount(normal, buggy, number, settings))
        for number, raw in enumerate(buggy[0])
        if raw > 0
    }
    names = [functions.functions[number].key.name for number in sorted(cost, key=lambda number: -cost[number])]
    return Ranking(tuple(dict.fromkeys(names)))
