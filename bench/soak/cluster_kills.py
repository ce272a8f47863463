"""Dask workers and schedulers killed at random moments of a diagnosis: the same verdict, or a sentence."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.diagnose.dask import OwnCluster
from tests.patience import PATIENCE_S

from bench.fleet import make_fleet, measured, record_runs
from bench.soak.result import Result
from bench.soak.surroundings import Surroundings
from bench.tool import whyperf_command
from whyperf.recording.compared import compared_in

_KILLS, _FEWEST = 50, 6
_FLEET = 12


def cluster_kills(around: Surroundings, scale: float) -> Result:
    chance = random.Random(1)
    runs = compared_in(record_runs(around.folder / "recorded"))
    fleet = make_fleet(around.folder, runs, _FLEET)
    alone = around.folder / "alone.json"
    usual_s = measured(fleet, alone, "--jobs", "1").wall_s
    undisturbed = _killed(around, fleet, alone, "nobody", 0.0)
    if undisturbed != "same verdict":
        return Result.of([(False, f"nobody was killed, and it ended with: {undisturbed}")])
    ends: Counter[str] = Counter()
    for number in range(max(round(_KILLS * scale), _FEWEST)):
        victim = "scheduler" if number % 3 == 2 else "worker"
        ends[f"{victim}: {_killed(around, fleet, alone, victim, chance.uniform(0.2, 1.2) * usual_s)}"] += 1
    # Without its scheduler a diagnosis may end with a sentence; without one of two workers it must go on.
    good = set(ends) <= {f"{victim}: same verdict" for victim in ("worker", "scheduler")} | {"scheduler: sentence"}
    return Result.of([(good, "; ".join(f"{count} {end}" for end, count in sorted(ends.items())))])


def _killed(around: Surroundings, fleet: dict[str, list[str]], alone: Path, victim: str, after_s: float) -> str:
    """What became of one diagnosis."""
    verdict = around.folder / "verdict.json"
    verdict.unlink(missing_ok=True)
    cluster = OwnCluster(Path(tempfile.mkdtemp(dir=around.folder)))
    try:
        address = cluster.address.replace("tcp://", "dask://")
        words = ["diagnose", "--good", *fleet["good"], "--bad", *fleet["bad"], "--json", str(verdict)]
        tool = subprocess.Popen(
            [*whyperf_command(), *words, "--cluster", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(after_s)
        if victim == "scheduler":
            cluster.kill_scheduler()
        elif victim == "worker":
            with contextlib.suppress(ProcessLookupError):
                os.kill(cluster.worker_pids[-1], signal.SIGKILL)
        try:
            _, said = tool.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            tool.kill()
            tool.communicate()
            return "hung"
    finally:
        cluster.stop()
    if "Traceback" in said:
        return "traceback"
    if verdict.exists():
        return "same verdict" if verdict.read_bytes() == alone.read_bytes() else "another verdict"
    return "sentence" if "whyperf: " in said else f"status {tool.returncode} and no sentence"
