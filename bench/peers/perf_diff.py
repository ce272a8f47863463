"""`perf diff` of the good and the bad run, in its own order."""

from __future__ import annotations

from bench.peers.peer import Ranking, Trial
from bench.peers.perf_data import parse_symbols, recorded, said


def ranking(trial: Trial) -> Ranking:
    return Ranking(parse_symbols(said("diff", recorded(trial, "good", "-g"), recorded(trial, "bad", "-g"))))
