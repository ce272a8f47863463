"""One run of a workload under one tool, and everything that it cost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.cache import SubjectError
from bench.counted import counted, counting
from bench.server import wait_for_port
from bench.speed.tools import Tool
from bench.speed.watch import Watch
from bench.workloads import Workload

_TO_END_S = 60.0  # what a tool may take after the program's end
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Inside:
    """What whyperf says of itself: the handler's part of the program's CPU time, microseconds a sample, losses."""

    share: float
    mean_us: float
    median_us: float
    dropped: int
    resident_bytes: int  # of the sampler, in the largest of the program's processes; 0: not looked at


@dataclass(frozen=True)
class Cost:
    cpu_s: float  # of the program and its children, nothing of the tool's own processes
    elapsed_s: float  # of the program; of servers: of their load
    machine_s: float  # CPU time of the whole machine, from the tool's start until it had written all
    tool_bytes: int  # peak resident memory of the tool's own processes
    written_bytes: int  # what the tool left on disk
    inside: Inside | None = None


class FailedRunError(Exception):
    """The tool or the program under it did not come to a proper end; the words are short enough for a table."""


def measure(workload: Workload, tool: Tool, limit_s: float) -> Cost:
    with tempfile.TemporaryDirectory(prefix="whyperf-speed-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # servers may have become another user
        (written := folder / "written").mkdir(mode=0o777)
        written.chmod(0o777)
        target = workload.command(tool.flags)
        command = [*tool.around(written), *counting(folder / "used"), *tool.within(written), *target]
        before = machine_cpu_s()
        with Watch(looks_inside=tool.is_ours) as watch:
            elapsed = _run(command, workload, folder, watch, limit_s)
        machine = machine_cpu_s() - before
        used = counted(folder / "used")
        size = sum(path.stat().st_size for path in written.rglob("*") if path.is_file())
        inside = _inside(written / "recording", used.cpu_s, watch.sampler_bytes) if tool.is_ours else None
        return Cost(used.cpu_s, elapsed or used.elapsed_s, machine, watch.tool_bytes, size, inside)


def _run(command: list[str], workload: Workload, folder: Path, watch: Watch, limit_s: float) -> float | None:
    """Seconds that the load took, where there is one."""
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
    watch.begin(process.pid)
    elapsed = None
    try:
        if workload.port:
            wait_for_port(workload.port)
            drive = [*counting(folder / "load"), *workload.drive]
            subprocess.run(drive, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit_s)
            elapsed = counted(folder / "load").elapsed_s
            os.kill(watch.counter(), signal.SIGTERM)
        status = process.wait(_TO_END_S if workload.port else limit_s)
    except subprocess.TimeoutExpired:
        raise FailedRunError("timed out") from None
    except (SubjectError, subprocess.CalledProcessError, LookupError):
        raise FailedRunError("crashed" if process.poll() else "does not serve") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status:
        raise FailedRunError(f"crashed ({status})")
    return elapsed


def machine_cpu_s() -> float:
    """Busy time of all CPUs since the machine started: user, nice, system, interrupts."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    user, nice, system, _idle, _waiting, hard, soft = fields
    return (user + nice + system + hard + soft) / _TICKS


def _inside(recording: Path, cpu_s: float, resident_bytes: int) -> Inside:
    told = json.loads((recording / "manifest.json").read_text())
    handler, losses = told["overhead"], told["losses"]
    if not handler["handler_s"]:
        raise FailedRunError("sampled nothing")
    return Inside(
        handler["handler_s"] / cpu_s,
        handler["handler_mean_us"],
        handler["handler_median_us"],
        losses["samples_dropped"] + losses["values_dropped"],
        resident_bytes,
    )
