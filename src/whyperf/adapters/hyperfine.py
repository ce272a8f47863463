"""hyperfine: the commands of what it exported with --export-json."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.adapters.reports import read_report
from whyperf.errors import WhyperfError


@dataclass(frozen=True)
class TimedCommand:
    command: str
    mean_s: float


def read_export(path: Path) -> list[TimedCommand]:
    report = read_report(path)
    results = report.get("results") if isinstance(report, dict) else None
    found = [
        TimedCommand(one["command"], float(one["mean"]))
        for one in (results if isinstance(results, list) else [])
        if isinstance(one, dict) and isinstance(one.get("command"), str) and isinstance(one.get("mean"), int | float)
    ]
    if not found:
        again = f"hyperfine --export-json {shlex.quote(str(path))} COMMAND COMMAND"
        raise WhyperfError(f"{path} is not what hyperfine --export-json writes.", again, status=2)
    return found


def choose(timed: Sequence[TimedCommand], path: Path, good: str | None, bad: str | None) -> tuple[str, str]:
    """The good and the bad command: as named by number or text; of two commands the faster one is good."""
    if good is None and bad is None and len(timed) == 2:
        first, second = sorted(timed, key=lambda one: one.mean_s)
        return first.command, second.command
    if good is None or bad is None:
        listed = ", ".join(f"{number} {one.command}" for number, one in enumerate(timed, start=1))
        raise WhyperfError(
            f"{path} has {len(timed)} commands ({listed}): choose two with --good and --bad.",
            f"whyperf compare --from-hyperfine {shlex.quote(str(path))} --good 1 --bad {min(2, len(timed))}",
            status=2,
        )
    return _named(timed, path, good), _named(timed, path, bad)


def _named(timed: Sequence[TimedCommand], path: Path, name: str) -> str:
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(timed):
        return timed[int(name) - 1].command
    if any(one.command == name for one in timed):
        return name
    listed = ", ".join(f"{number} {one.command}" for number, one in enumerate(timed, start=1))
    raise WhyperfError(f"{path} has no command {name!r}; it has {listed}.", f"cat {shlex.quote(str(path))}", status=2)
