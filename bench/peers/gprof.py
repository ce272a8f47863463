"""gprof's flat profile of the bad run, of all processes together. Libraries are unknown to it."""

from __future__ import annotations

import re
import subprocess

from bench.peers.peer import PeerError, Ranking, Trial
from bench.peers.runs import installed, run_under


def ranking(trial: Trial) -> Ranking:
    if not trial.can_be_rebuilt:
        return Ranking(problem="not built for it")
    commands = trial.commands("-pg")
    data = trial.folder / "gmon"
    run_under([], commands.bad, commands.ready, {"GMON_OUT_PREFIX": str(data)})
    files = sorted(str(path) for path in trial.folder.glob(f"{data.name}.*"))
    if not files:
        raise PeerError("The program wrote no profile.")
    listed = [installed("gprof", "binutils"), "-b", "-p", commands.bad.command[0], *files]
    return Ranking(parse_flat_profile(subprocess.run(listed, capture_output=True, text=True, check=True).stdout))


def parse_flat_profile(text: str) -> tuple[str, ...]:
    """Functions that took time, the most costly first; counts and times per call are left out for some of them."""
    names = []
    for line in text.splitlines():
        row = re.match(r"\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s+(?:\d+\s+(?:[\d.]+\s+[\d.]+\s+)?)?(\D.*)", line)
        if row and float(row.group(1)) > 0:
            names.append(row.group(2))
    return tuple(names)
