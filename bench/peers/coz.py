"""COZ, end to end: each run speeds one line up virtually; functions by what their lines would win for the program.

Debian's COZ reads DWARF 4 without location views only, so our own programs are built that way for it; of others it
sees no line. It follows no child processes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.peers.peer import PeerError, Ranking, Trial
from bench.peers.runs import installed, run_under
from bench.relations.cost import cpu_of_children
from whyperf.debuginfo.binary import Binary
from whyperf.debuginfo.describe import describe

_FLAGS = "-gdwarf-4 -gstrict-dwarf -gno-variable-location-views"
_EXECUTIONS = 24
_CPU_S = 50.0  # of all executions together
_Line = tuple[str, int]


@dataclass(frozen=True)
class Experiment:
    line: _Line
    speedup: float
    seconds: float  # of the run, without the delays that others were given


def ranking(trial: Trial) -> Ranking:
    commands = trial.commands(_FLAGS if trial.can_be_rebuilt else "")
    profile = trial.folder / "profile.coz"
    profile.unlink(missing_ok=True)
    tool = [installed("coz", "coz-profiler"), "run", "--end-to-end", "-o", str(profile), "---"]
    before = cpu_of_children()
    for _ in range(_EXECUTIONS):
        run_under(tool, commands.bad, commands.ready)
        if cpu_of_children() - before > _CPU_S:
            break
    if not profile.exists():
        raise PeerError("COZ wrote no profile.")
    function_of = _Functions(describe(commands.bad.command[0]))
    return Ranking(by_promise(parse_profile(profile.read_text()), function_of))


def parse_profile(text: str) -> list[Experiment]:
    found = []
    for row in text.splitlines():
        kind, *fields = row.split("\t")
        if kind == "experiment":
            told = dict(one.split("=", 1) for one in fields)
            file, line = told["selected"].rsplit(":", 1)
            found.append(Experiment((file, int(line)), float(told["speedup"]), int(told["duration"]) / 1e9))
    return found


def by_promise(experiments: list[Experiment], function_of: Callable[[_Line], str]) -> tuple[str, ...]:
    """The program's speed-up per speed-up of the line, the median of its experiments; only what helps at all."""
    plain = [one.seconds for one in experiments if one.speedup == 0]
    if not plain:
        return ()
    usual = statistics.median(plain)
    slopes: dict[_Line, list[float]] = {}
    for one in experiments:
        if one.speedup > 0:
            slopes.setdefault(one.line, []).append((1.0 - one.seconds / usual) / one.speedup)
    promise = {line: statistics.median(found) for line, found in slopes.items()}
    helpful = sorted((line for line in promise if promise[line] > 0), key=lambda line: (-promise[line], line))
    return tuple(dict.fromkeys(name for line in helpful if (name := function_of(line))))


class _Functions:
    """Which function a line of the source belongs to: the innermost one at any of its addresses."""

    def __init__(self, binary: Binary) -> None:
        code = binary.code
        self._binary = binary
        self._files = [Path(file).name for file in code.files]

    def __call__(self, line: _Line) -> str:
        code = self._binary.code
        rows = np.flatnonzero(code.row_line == line[1])
        name = Path(line[0]).name
        addresses = [code.row_address[row] for row in rows if self._files[code.row_file[row]] == name]
        places = self._binary.resolve(addresses[:1])
        return self._binary.functions.names[int(places.function[0])] if len(places.function) else ""
