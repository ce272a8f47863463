"""How long the diagnosis of a redis server's recordings with values takes: three good and three slower ones."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from pathlib import Path

from bench.cache import cache_folder
from bench.tool import whyperf_command
from bench.values_pools import RUNS, programs, record_run
from bench.workloads import Workload
from whyperf.recording.sealed.reader import Recording

_GOAL_S = 5.0
_MORE_REQUESTS = "300000"  # instead of 120,000: a difference there is, so that values are compared


def show_redis(repeats: int, *, reuse: bool) -> bool:
    """Prints the time of each diagnosis, started anew; whether the median of all but the first is within the goal."""
    server = next(one for one in programs() if one.name == "redis")
    folder = cache_folder() / "recordings" / "values-redis"
    sides = {"good": server, "bad": _with_more(server)}
    paths = {side: [folder / f"{side}-{at}.whyperf" for at in range(RUNS)] for side in sides}
    for at in range(RUNS):
        for side, workload in sides.items():
            if not (reuse and (paths[side][at] / "manifest.json").exists()):
                record_run(workload, paths[side][at])
    count = sum(_values(path) for both in paths.values() for path in both)
    command = [*whyperf_command(), "diagnose", "--good", *map(str, paths["good"]), "--bad", *map(str, paths["bad"])]
    print(f"redis, {RUNS}+{RUNS} recordings, {count} values, load average {os.getloadavg()[0]:.1f}")
    wall, cpu = [], []
    for _ in range(repeats):
        start, before = time.perf_counter(), _children_cpu_s()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall.append(time.perf_counter() - start)
        cpu.append(_children_cpu_s() - before)
        if done.returncode:
            raise ValueError(f"No difference was found: {done.stdout}{done.stderr}")
        print(f"{wall[-1]:.2f} s wall, {cpu[-1]:.2f} s CPU", flush=True)
    warm = statistics.median(wall[1:] or wall)
    print(f"median of all but the first: {warm:.2f} s wall (goal {_GOAL_S:.0f} s), {statistics.median(cpu):.2f} s CPU")
    return warm <= _GOAL_S


def _with_more(server: Workload) -> Workload:
    drive = list(server.drive)
    drive[drive.index("-n") + 1] = _MORE_REQUESTS
    return Workload(server.name, server.command, drive, server.port)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _values(path: Path) -> int:
    return Recording(path).manifest.tables["values"].rows
