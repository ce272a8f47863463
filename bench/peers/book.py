"""Every peer, in the order of the tables' columns."""

from __future__ import annotations

import subprocess
import sys

from bench.peers import (
    callgrind,
    coz,
    flame_graph,
    gdb_stacks,
    gprof,
    perf_diff,
    perf_report,
    predicates,
    rank_history,
)
from bench.peers.peer import Peer, PeerError, Ranking, Trial

PEERS = (
    Peer("perf diff", perf_diff.ranking),
    Peer("perf report", perf_report.by_self),
    Peer("perf --children", perf_report.by_children),
    Peer("gprof", gprof.ranking),
    Peer("flame graphs", flame_graph.ranking),
    Peer("predicates", predicates.ranking),
    Peer("hist-discount", rank_history.ranking),
    Peer("gdb", gdb_stacks.ranking, follows_children=False, costly=True),
    Peer("COZ", coz.ranking, follows_children=False, costly=True),
    Peer("callgrind", callgrind.ranking, costly=True),
)
_BY_NAME = {peer.name: peer for peer in PEERS}


def peers_named(names: list[str]) -> list[Peer]:
    """KeyError for a name that none has."""
    return [_BY_NAME[name] for name in names]


def ask(peer: Peer, trial: Trial) -> Ranking:
    """Its answer; a tool that fails is an answer too."""
    try:
        return peer.rank(trial)
    except (PeerError, subprocess.SubprocessError, OSError, ValueError) as error:
        print(f"  {peer.name}: {error}", file=sys.stderr)
        return Ranking(problem="timed out" if isinstance(error, subprocess.TimeoutExpired) else "crashed")
