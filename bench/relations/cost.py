"""What the phases of a deep comparison cost, beside the plain run and Valgrind's own tools."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError
from bench.cases.case import Commands, Side
from bench.counted import counted, counting
from bench.server import drive_once

_ROUNDS = 3  # of short runs
_SHORT_S = 2.0


@dataclass(frozen=True)
class Phase:
    """One recording that a comparison made."""

    name: str
    phase: str  # sketch or zoom
    seconds: float  # wall, of the target under the tool
    cpu_s: float
    instructions: int
    planned: int  # functions
    executions: int  # of those
    bytes: int  # of the sealed tables
    inexact: int

    @property
    def bytes_per_event(self) -> float:
        return self.bytes / self.executions if self.executions else 0.0

    @property
    def events_per_s(self) -> float:
        return self.executions / self.cpu_s if self.cpu_s else 0.0


@dataclass(frozen=True)
class Plain:
    """CPU seconds that one side takes by itself and under Valgrind's tools."""

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
                    cpu_s=manifest["totals"]["cpu_user_s"] + manifest["totals"]["cpu_system_s"],
                    instructions=deep["instructions"],
                    planned=deep["planned"],
                    executions=deep["executions"],
                    bytes=sum(table["bytes"] for table in manifest["tables"].values()),
                    inexact=sum(deep["inexact"].values()),
                )
            )
    return tuple(found)


def cpu_of_children() -> float:
    """CPU seconds of all that this process has run and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain(side: Side, ready: str) -> Plain:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SubjectError("valgrind is not installed: apt-get install valgrind")
    quiet = [valgrind, "--quiet"]
    return Plain(
        native=_cpu_s(side, ready, []),
        none=_cpu_s(side, ready, [*quiet, "--tool=none"]),
        callgrind=_cpu_s(side, ready, [*quiet, "--tool=callgrind", "--callgrind-out-file=/dev/null"]),
    )


def both(commands: Commands) -> tuple[Plain, Plain]:
    return plain(commands.good, commands.ready), plain(commands.bad, commands.ready)


def start_up() -> Plain:
    """What the tools take for a program that does nothing."""
    return plain(Side(["/bin/true"], []), "")


def _cpu_s(side: Side, ready: str, tool: list[str]) -> float:
    """The least of a few runs: what others do on the machine only adds."""
    least = float("inf")
    with tempfile.TemporaryDirectory() as scratch:
        used = Path(scratch) / "cpu"
        command = [*counting(used), *tool, *side.command]
        for _ in range(_ROUNDS):
            if ready:
                drive_once(command, ready, side.drive)
            else:
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            least = min(least, counted(used).cpu_s)
            if least > _SHORT_S:
                break
    return least
