"""What the phases of a deep comparison cost, beside the plain run and Valgrind's own tools."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError
from bench.cases.case import Commands, Side
from bench.server import drive_once

_ROUNDS = 3  # of short runs, of which the fastest counts
_SHORT_S = 2.0


@dataclass(frozen=True)
class Phase:
    """One recording that a comparison made."""

    name: str
    phase: str  # sketch or zoom
    seconds: float  # wall, of the target under the tool
    instructions: int
    planned: int  # instructions
    executions: int  # of those
    bytes: int  # of the sealed tables
    inexact: int

    @property
    def bytes_per_event(self) -> float:
        return self.bytes / self.executions if self.executions else 0.0

    @property
    def events_per_s(self) -> float:
        return self.executions / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Plain:
    """Seconds that one side takes by itself and under Valgrind's tools."""

    native: float
    none: float
    callgrind: float


def phases(folder: Path) -> tuple[Phase, ...]:
    """What the manifests of the recordings below a comparison's folder say."""
    found = []
    for path in sorted(folder.rglob("manifest.json"), key=lambda path: path.stat().st_mtime_ns):
        manifest = json.loads(path.read_text())
        deep = manifest.get("deep")
        if deep:
            found.append(
                Phase(
                    name=str(path.parent.relative_to(folder)),
                    phase=deep["phase"],
                    seconds=manifest["totals"]["wall_s"],
                    instructions=deep["instructions"],
                    planned=deep["planned"],
                    executions=deep["executions"],
                    bytes=sum(table["bytes"] for table in manifest["tables"].values()),
                    inexact=sum(deep["inexact"].values()),
                )
            )
    return tuple(found)


def plain(side: Side, ready: str) -> Plain:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SubjectError("valgrind is not installed: apt-get install valgrind")
    quiet = [valgrind, "--quiet"]
    return Plain(
        native=_seconds(side, ready, []),
        none=_seconds(side, ready, [*quiet, "--tool=none"]),
        callgrind=_seconds(side, ready, [*quiet, "--tool=callgrind", "--callgrind-out-file=/dev/null"]),
    )


def both(commands: Commands) -> tuple[Plain, Plain]:
    return plain(commands.good, commands.ready), plain(commands.bad, commands.ready)


def _seconds(side: Side, ready: str, tool: list[str]) -> float:
    fastest = float("inf")
    for _ in range(_ROUNDS):
        began = time.monotonic()
        if ready:
            drive_once([*tool, *side.command], ready, side.drive)
        else:
            subprocess.run([*tool, *side.command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        fastest = min(fastest, time.monotonic() - began)
        if fastest > _SHORT_S:
            break
    return fastest
