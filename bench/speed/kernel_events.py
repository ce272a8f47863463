"""`python -m bench.speed.kernel_events`: what kernel events cost, beside perf and strace, alternated in one run.

- calls, switches: nanoseconds that a system call and a switch take longer, from the CPU time of a program that does
  nothing else;
- desktop: share of the machine that a tool takes while a program like a desktop's clients and server goes on at its own
  pace (more CPU of the program and all CPU of the tool);
- storm: redis-benchmark against redis-server, and condition variables: operations a second lost at saturation, and CPU
  an operation, which tells the same where other work disturbs.

Tools take turns, in an order that rotates. Figures in brackets compare runs of the same round; on a busy machine the
difference of the least disturbed runs says more. `unshed` is whyperf without its governor.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.cache import SubjectError
from bench.server import wait_for_port
from bench.speed.kernel_tools import TOOLS, Recorded, can_use_tracepoints
from bench.subjects import own

_PORT = 7397
_SECONDS = {"calls": 1.0, "switches": 1.0, "conditions": 4.0, "desktop": 4.0}


@dataclass(frozen=True)
class Run:
    operations: float
    cpu: float  # seconds, of the load
    wall: float
    recorded: Recorded

    @property
    def cpu_per_operation(self) -> float:
        return self.cpu / max(self.operations, 1)

    @property
    def rate(self) -> float:
        return self.operations / self.wall


def _own_load(how: str, tool: str) -> Run:
    program = subprocess.Popen([own("traced_load"), how, str(_SECONDS[how])], stdout=subprocess.PIPE, text=True)
    assert program.stdout
    program.stdout.readline()
    with TOOLS[tool](program.pid) as recorded:
        program.send_signal(signal.SIGUSR1)
        done, cpu, wall = map(float, program.stdout.readline().split())
    program.wait()
    return Run(done, cpu, wall, recorded)


def _process_cpu(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _redis(tool: str, requests: int = 300000) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            ["redis-server", "--port", str(_PORT), "--save", "", "--appendonly", "no"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for_port(_PORT)
            drive = ["redis-benchmark", "-p", str(_PORT), "-t", "get", "-c", "10", "-q"]
            subprocess.run([*drive, "-n", "2000"], check=True, stdout=subprocess.DEVNULL)
            with TOOLS[tool](server.pid) as recorded:
                before, began = _process_cpu(server.pid), time.monotonic()
                client = subprocess.Popen([*drive, "-n", str(requests)], stdout=subprocess.DEVNULL)
                _, _, usage = os.wait4(client.pid, 0)
                wall = time.monotonic() - began
                cpu = _process_cpu(server.pid) - before + usage.ru_utime + usage.ru_stime
        finally:
            server.kill()
            server.wait()
    return Run(requests, cpu, wall, recorded)


LOADS: dict[str, Callable[[str], Run]] = {
    "calls": lambda tool: _own_load("calls", tool),
    "switches": lambda tool: _own_load("switches", tool),
    "desktop": lambda tool: _own_load("desktop", tool),
    "redis": _redis,
    "conditions": lambda tool: _own_load("conditions", tool),
}


def _middle(values: list[float]) -> str:
    """Median and range."""
    return f"{median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def _least(runs: list[Run]) -> float:
    """CPU an operation, least disturbed by other work."""
    return min(run.cpu_per_operation for run in runs)


def _figures(load: str, plain: list[Run], runs: list[Run]) -> str:
    pairs = list(zip(plain, runs, strict=True))
    if load in ("calls", "switches"):
        # Two switches, with two wakings and four system calls, are an operation of `switches`.
        each, what = (1, "a call") if load == "calls" else (2, "a switch with its waking and two calls")
        paired = [1e9 * (run.cpu_per_operation - base.cpu_per_operation) / each for base, run in pairs]
        return f"+{1e9 * (_least(runs) - _least(plain)) / each:.0f} ns {what} (paired: {_middle(paired)})"
    if load == "desktop":
        cpus = os.cpu_count() or 1
        share = [100 * (run.cpu - base.cpu + run.recorded.cpu) / run.wall / cpus for base, run in pairs]
        return f"{_middle(share)}% of the machine"
    lost = [100 * (1 - run.rate / base.rate) for base, run in pairs]
    more = 100 * (_least(runs) / _least(plain) - 1)
    return f"CPU an operation {more:+.1f}% (least of each), throughput lost (paired): {_middle(lost)}%"


def _events(runs: list[Run]) -> str:
    events = sum(run.recorded.events for run in runs)
    if not events:
        return ""
    each = sum(run.recorded.bytes for run in runs) / events
    rate = events / sum(run.wall for run in runs)
    lost, shed = sum(run.recorded.lost for run in runs), max(run.recorded.shed for run in runs)
    bytes_each = f", {each:.0f} bytes each" if each else ""
    return f"; {rate:.0f} events/s{bytes_each}, {lost} lost" + (f", shed to level {shed}" if shed else "")


def _measure(load: str, tools: list[str], rounds: int) -> None:
    runs: dict[str, list[Run]] = {tool: [] for tool in tools}
    for number in range(rounds):
        order = tools[number % len(tools) :] + tools[: number % len(tools)]
        for tool in order:
            runs[tool].append(LOADS[load](tool))
    plain = runs["none"]
    base = f"{1e6 * _least(plain):.3f} us of CPU an operation"
    print(f"{load}: plain {base}, {median(run.rate for run in plain):.0f} operations/s, {rounds} rounds")
    for tool in tools:
        if tool != "none":
            print(f"  {tool:11} {_figures(load, plain, runs[tool])}{_events(runs[tool])}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.kernel_events", description="Cost of kernel events.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--loads", nargs="+", choices=list(LOADS), default=list(LOADS))
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    options = parser.parse_args()
    if not can_use_tracepoints():
        print("perf cannot use tracepoints here: tracefs is not mounted.", file=sys.stderr)
    load = os.getloadavg()
    print(f"load average before: {load[0]:.1f} {load[1]:.1f}, {os.cpu_count()} CPUs")
    tools = list(dict.fromkeys(["none", *options.tools]))
    for name in options.loads:
        try:
            _measure(name, tools, options.rounds)
        except (SubjectError, OSError) as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
