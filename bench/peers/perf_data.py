"""perf's recordings of both sides, made once a trial and read by several peers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from bench.peers.peer import Trial
from bench.peers.runs import installed, run_under

# Virtual machines often have no cycle counter; the CPU clock is perf's own fallback there.
_EVENT = ["-e", "cpu-clock"]


def recorded(trial: Trial, side: str, *options: str) -> Path:
    """perf.data of "good" or "bad"; `options` as `perf record` takes them."""
    perf = installed("perf", "linux-perf")
    data = trial.folder / f"{side}{''.join(options)}.perf"
    if not data.exists():
        commands = trial.commands()
        tool = [perf, "record", "-q", *_EVENT, *options, "-o", str(data), "--"]
        run_under(tool, commands.good if side == "good" else commands.bad, commands.ready)
    return data


def said(*arguments: str | Path) -> str:
    """What perf prints about a recording."""
    command = [installed("perf", "linux-perf"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout


def parse_symbols(text: str) -> tuple[str, ...]:
    """The symbols of a listing in its order: `[.]` marks user space, `[k]` the kernel."""
    names: list[str] = []
    for line in text.splitlines():
        marked = re.search(r"\[[.k]\]\s+(.*\S)", line)
        if marked and not line.startswith("#"):
            names.append(re.sub(r"\s+-(\s+-)*$", "", marked.group(1)))
    return tuple(dict.fromkeys(names))
