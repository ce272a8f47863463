"""`perf report` of the bad run: by self time, or with callees."""

from __future__ import annotations

from bench.peers.peer import Ranking, Trial
from bench.peers.perf_data import parse_symbols, recorded, said

_LISTED = ("--stdio", "--percent-limit", "0", "-g", "none")


def by_self(trial: Trial) -> Ranking:
    return _ranking(trial, "--no-children", "-F", "overhead,sym")


def by_children(trial: Trial) -> Ranking:
    return _ranking(trial, "--children", "-F", "overhead_children,overhead,sym")


def _ranking(trial: Trial, *options: str) -> Ranking:
    return Ranking(parse_symbols(said("report", "-i", recorded(trial, "bad", "-g"), *options, *_LISTED)))
