"""What perf and gprof say about the same commands: `perf report` by self time and by children, `perf diff`, and
gprof's flat profile of the bad run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError
from bench.cases.case import Commands, Side
from bench.server import drive_once

# Virtual machines often have no cycle counter; the CPU clock is perf's own fallback there.
_EVENT = ["-e", "cpu-clock", "-g"]


@dataclass(frozen=True)
class PeerRankings:
    """Function names, best suspect first."""

    self_time: tuple[str, ...]
    children: tuple[str, ...]
    diff: tuple[str, ...]


def perf_rankings(commands: Commands, folder: Path) -> PeerRankings:
    if shutil.which("perf") is None:
        raise SubjectError("perf is not installed; on Debian: apt-get install linux-perf")
    good, bad = folder / "good.perf", folder / "bad.perf"
    _record(commands.good, commands.ready, good)
    _record(commands.bad, commands.ready, bad)
    return PeerRankings(
        self_time=_symbols(["report", "-i", str(bad), "--no-children", "-F", "overhead,sym"]),
        children=_symbols(["report", "-i", str(bad), "--children", "-F", "overhead_children,overhead,sym"]),
        diff=_symbols(["diff", str(good), str(bad)], report=False),
    )


def gprof_ranking(bad: Side, folder: Path) -> tuple[str, ...]:
    """The flat profile, of all processes together; the program is built with -pg. Libraries are unknown to gprof."""
    data = folder / "gmon"
    environment = {**os.environ, "GMON_OUT_PREFIX": str(data)}
    subprocess.run(bad.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    files = sorted(str(path) for path in folder.glob(f"{data.name}.*"))
    listed = ["gprof", "-b", "-p", bad.command[0], *files]
    return parse_flat_profile(subprocess.run(listed, capture_output=True, text=True, check=True).stdout)


def parse_flat_profile(text: str) -> tuple[str, ...]:
    """Functions that took time, the most costly first; counts and times per call are left out for some of them."""
    names = []
    for line in text.splitlines():
        row = re.match(r"\s*[\d.]+\s+[\d.]+\s+([\d.]+)\s+(?:\d+\s+(?:[\d.]+\s+[\d.]+\s+)?)?(\D.*)", line)
        if row and float(row.group(1)) > 0:
            names.append(row.group(2))
    return tuple(names)


def _record(side: Side, ready: str, data: Path) -> None:
    command = ["perf", "record", "-q", *_EVENT, "-o", str(data), "--", *side.command]
    if ready:
        drive_once(command, ready, side.drive)
    else:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _symbols(arguments: list[str], report: bool = True) -> tuple[str, ...]:
    shown = ["-g", "none"] if report else []
    command = ["perf", *arguments, "--stdio", "--percent-limit", "0", *shown] if report else ["perf", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return parse_symbols(done.stdout)


def parse_symbols(text: str) -> tuple[str, ...]:
    """The user-space symbols of perf's listing, in its order: `[.]` marks user space, `[k]` the kernel."""
    names: list[str] = []
    for line in text.splitlines():
        marked = re.search(r"\[[.k]\]\s+(.*\S)", line)
        if marked and not line.startswith("#"):
            names.append(re.sub(r"\s+-(\s+-)*$", "", marked.group(1)))
    return tuple(dict.fromkeys(names))
