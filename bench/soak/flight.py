"""The flight recorder under a storm: gaps in numbered system calls must be what the recorder says it left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyarrow import parquet

from bench.cache import BENCH
from bench.soak.gaps import Gaps, gaps_between
from bench.soak.memory import MemoryWatch
from bench.soak.result import Result
from bench.soak.surroundings import Surroundings
from bench.tool import whyperf_command
from whyperf.recording.names.system_calls import NUMBERS
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.manifest import Shed

_HOUR_S = 3600.0
_TURN_S, _CALM = 150.0, 0.6  # of each turn this share is calm: nothing is left out once the recorder has recovered
_LOOKS, _FEWEST = 20, 5  # dumps, in all parts of a turn
_DESCRIPTOR = 1000  # as in numbered.c
_POLITELY = ("nice", "-n", "10")  # an hour's storm must leave the machine usable; the recorder itself is as ever


def flight(around: Surroundings, scale: float) -> Result:
    if os.geteuid() != 0:
        return Result.skipped("the flight recorder needs root")
    program = around.folder / "numbered"
    subprocess.run(["gcc", "-O2", "-o", program, BENCH / "soak" / "numbered.c", "-lm"], check=True)
    seconds = _HOUR_S * scale
    turn = min(_TURN_S, seconds / 2)
    turns = [str(seconds), str(turn), str(turn * _CALM)]
    _tool("trace", "start")
    storm: list[subprocess.Popen[bytes]] = []
    try:
        watch = MemoryWatch(_status()["daemon"])
        storm += [
            subprocess.Popen([*_POLITELY, "taskset", "-c", "0", program, *turns], stdout=subprocess.DEVNULL),
            subprocess.Popen([*_POLITELY, sys.executable, "-c", _STARTS_PROGRAMS, *turns]),
        ]
        found = list(_looks(around.folder, seconds, max(round(_LOOKS * scale), _FEWEST)))
        status = _status()
        growth = watch.growth()
        for process in storm:
            process.wait()
    finally:
        for process in storm:
            process.kill()
        _tool("trace", "stop")
    trace = status["trace"]
    unexplained = sum(one.unexplained for one in found)
    seen, missing = sum(one.seen for one in found), sum(one.missing for one in found)
    return Result.of(
        [
            (
                seen > 0,
                f"{seen:,} numbered calls in {len(found)} dumps of {status['events']:,} events in {seconds:.0f} s",
            ),
            (
                unexplained <= trace["events_lost"] + trace["runs_missed"],
                f"{missing:,} numbers missing in them, {unexplained:,} of them while no such calls were left out; the "
                f"recorder counted {trace['events_lost']:,} lost events and {trace['runs_missed']:,} missed ones, and "
                f"{trace['quick_calls']:,} calls only by number",
            ),
            (growth.is_flat, f"daemon's memory: {growth}"),
        ]
    )


_STARTS_PROGRAMS = """
import subprocess, sys, time
seconds, turn, calm = map(float, sys.argv[1:])
begun = time.monotonic()
while (passed := time.monotonic() - begun) < seconds:
    if passed % turn < calm: time.sleep(0.1)
    subprocess.run(["/bin/true"])
"""


def _looks(folder: Path, seconds: float, count: int) -> Iterator[Gaps]:
    """Evenly over the storm; fewer where writing a dump takes longer than the time between two."""
    begun = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, begun + (number + 0.4) * seconds / count - time.monotonic()))
        if time.monotonic() - begun < seconds:
            yield _look(folder / f"dump-{number}")


def _look(folder: Path) -> Gaps:
    _tool("trace", "dump", "-o", str(folder), "--last", "2s")
    columns = ["time", "kind", "detail", "argument0", "argument2"]
    events = parquet.read_table(folder / "events.parquet", columns=columns)
    ours = (
        (events["detail"].to_numpy() == NUMBERS["write"])
        & (events["kind"].to_numpy() == EventKind.SYSCALL)
        & (events["argument0"].to_numpy() == _DESCRIPTOR)
    )
    shed = json.loads((folder / "manifest.json").read_text())["trace"]["shed"]
    return gaps_between(
        events["time"].to_numpy()[ours], events["argument2"].to_numpy()[ours], [Shed(**one) for one in shed]
    )


def _status() -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_tool("trace", "status", "--json"))
    return answer


def _tool(*words: str) -> str:
    done = subprocess.run([*whyperf_command(), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"whyperf {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout
