"""What else one would look at: `perf diff`, and the stacks that were longest off the CPU in the bad run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from bench.cache import SubjectError
from bench.contexts.case import Runs
from bench.contexts.driven import run_side
from bench.contexts.stacks import Place, StackReader
from whyperf.recording.schemas.events import EventKind
from whyperf.recording.sealed.reader import Recording


def perf_diff(runs: Runs, folder: Path) -> list[Place]:
    """Modules and symbols of user space in its order; the CPU clock where there is no cycle counter."""
    if shutil.which("perf") is None:
        raise SubjectError("perf is not installed; on Debian: apt-get install linux-perf")
    data = {"good": folder / "good.perf", "bad": folder / "bad.perf"}
    for side, path in ((runs.good, data["good"]), (runs.bad, data["bad"])):
        run_side(side, runs.ready, ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-o", str(path), "--"])
    command = ["perf", "diff", *map(str, data.values())]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for path in data.values():
        path.unlink()
    return parse_diff(told)


def parse_diff(text: str) -> list[Place]:
    """By what was added: perf sorts by the baseline."""
    rows = []
    for line in text.splitlines():
        told = re.match(r"\s*(?:[\d.]+%)?\s*(?:([+-][\d.]+)%)?\s+(\S+)\s+\[([.k])\]\s+(.*\S)", line)
        if told and told.group(3) == ".":
            rows.append((float(told.group(1) or 0), (told.group(2), told.group(4))))
    return [place for _, place in sorted(rows, key=lambda row: -row[0])]


def longest_waits(path: Path) -> list[list[Place]]:
    """Stacks of the recorded program by the time its threads spent off the CPU there, longest first."""
    recording = Recording(path)
    columns = ("time", "thread", "kind", "other", "stack")
    time, thread, kind, other, stack = (recording.column("events", name) for name in columns)
    left: dict[int, tuple[int, int]] = {}
    waited: dict[int, int] = {}
    for row in np.flatnonzero(kind == EventKind.SWITCH).tolist():
        came = left.pop(int(other[row]), None)
        if came is not None and came[1] >= 0:
            waited[came[1]] = waited.get(came[1], 0) + int(time[row]) - came[0]
        left[int(thread[row])] = (int(time[row]), int(stack[row]))
    reader = StackReader(recording)
    return [reader.places(node) for node in sorted(waited, key=lambda node: -waited[node])]
