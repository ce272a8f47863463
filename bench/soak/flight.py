"""The flight recorder under a storm: gaps in numbered system calls must be what the recorder says it left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import parquet

from bench.cache import BENCH
from bench.soak.memory import MemoryWatch
from bench.soak.result import Result
from bench.soak.surroundings import Surroundings
from bench.tool import whyperf_command
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind

_HOUR_S = 3600.0
_LOOKS, _FEWEST = 60, 2  # dumps during the storm
_DESCRIPTOR = 1000  # as in numbered.c


@dataclass(frozen=True)
class _Gaps:
    seen: int
    missing: int  # numbers between the first and the last one seen
    unexplained: int  # of them those outside of the times at which calls were shed


def flight(around: Surroundings, scale: float) -> Result:
    if os.geteuid() != 0:
        return Result.skipped("the flight recorder needs root")
    program = around.folder / "numbered"
    subprocess.run(["gcc", "-O2", "-o", program, BENCH / "soak" / "numbered.c"], check=True)
    seconds, looks = _HOUR_S * scale, max(round(_LOOKS * scale), _FEWEST)
    _tool("trace", "start")
    try:
        watch = MemoryWatch(_status()["daemon"])
        storm = [
            subprocess.Popen(["taskset", "-c", "0", program, str(seconds)], stdout=subprocess.DEVNULL),
            subprocess.Popen([sys.executable, "-c", _STARTS_PROGRAMS, str(seconds)]),
        ]
        found = [_look(around.folder / f"dump-{look}", seconds / looks) for look in range(looks)]
        status = _status()
        growth = watch.growth()
        for process in storm:
            process.wait()
    finally:
        _tool("trace", "stop")
    trace = status["trace"]
    counted = trace["events_lost"] + trace["runs_missed"] + trace["quick_calls"]
    unexplained = sum(one.unexplained for one in found)
    seen, missing = sum(one.seen for one in found), sum(one.missing for one in found)
    return Result.of(
        [
            (seen > 0, f"{seen:,} numbered calls in {looks} dumps of {status['events']:,} events in {seconds:.0f} s"),
            (
                unexplained <= counted,
                f"{missing:,} numbers missing in them, {unexplained:,} of them while no calls were shed; the recorder "
                f"counted {trace['quick_calls']:,} quick calls, {trace['events_lost']:,} lost events, "
                f"{trace['runs_missed']:,} missed ones",
            ),
            (growth.is_flat, f"daemon's memory: {growth}"),
        ]
    )


_STARTS_PROGRAMS = """
import subprocess, sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: subprocess.run(["/bin/true"])
"""


def _look(folder: Path, wait_s: float) -> _Gaps:
    time.sleep(wait_s * 0.8)
    _tool("trace", "dump", "-o", str(folder), "--last", "2s")
    columns = ["time", "kind", "detail", "argument0", "argument2"]
    events = parquet.read_table(folder / "events.parquet", columns=columns)
    ours = (
        (events["detail"].to_numpy() == NUMBERS["write"])
        & (events["kind"].to_numpy() == EventKind.SYSCALL)
        & (events["argument0"].to_numpy() == _DESCRIPTOR)
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    return _gaps(events["time"].to_numpy()[ours], events["argument2"].to_numpy()[ours], manifest["trace"]["shed"])


def _gaps(times: npt.NDArray[np.int64], numbers: npt.NDArray[np.uint64], shed: list[dict[str, Any]]) -> _Gaps:
    order = np.argsort(numbers)
    times, numbers = times[order], numbers[order]
    steps = np.diff(numbers).astype(np.int64) - 1
    inside = np.zeros(len(steps), bool)
    for one in shed:
        inside |= (times[:-1] <= one["end"]) & (times[1:] >= one["start"])
    return _Gaps(len(numbers), int(steps.sum()), int(steps[~inside].sum()))


def _status() -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_tool("trace", "status", "--json"))
    return answer


def _tool(*words: str) -> str:
    done = subprocess.run([*whyperf_command(), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"whyperf {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
