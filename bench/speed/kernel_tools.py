"""Tools that record what the kernel does, each started and stopped around a load: ours, perf, strace.

`python -m bench.speed.kernel_tools FOLDER [BUDGET]` is our flight recorder without anything around it: rings that
nobody reads and a server of unwind tables, until it is interrupted; it then prints what it counted. As with one that
has been on for long, what runs already is known to it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_RING = 64 << 20
_BUDGET = 0.05
_EVENTS = ("sched:sched_switch", "sched:sched_waking", "raw_syscalls:sys_exit")
_TRACING = Path("/sys/kernel/tracing")


@dataclass
class Recorded:
    """What a tool said of one load; it is filled in when the tool has stopped."""

    cpu: float = 0.0  # seconds, of the tool's own processes
    events: int = 0
    bytes: int = 0
    lost: int = 0
    shed: int = 0  # highest level


@contextmanager
def none(_pid: int) -> Iterator[Recorded]:
    yield Recorded()


@contextmanager
def _ours(budget: float) -> Iterator[Recorded]:
    recorded = Recorded()
    with tempfile.TemporaryDirectory() as folder:
        recorder = subprocess.Popen(
            [sys.executable, "-m", "bench.speed.kernel_tools", folder, str(budget)], stdout=subprocess.PIPE, text=True
        )
        assert recorder.stdout
        recorder.stdout.readline()
        yield recorded
        recorder.send_signal(signal.SIGINT)
        said = json.loads(recorder.stdout.read())
        recorder.wait()
    for name, value in said.items():
        setattr(recorded, name, value)


def ours(_pid: int) -> AbstractContextManager[Recorded]:
    return _ours(_BUDGET)


def ours_unshed(_pid: int) -> AbstractContextManager[Recorded]:
    """Whatever it costs."""
    return _ours(0)


@contextmanager
def _perf(options: list[str]) -> Iterator[Recorded]:
    recorded = Recorded()
    with tempfile.TemporaryDirectory() as folder:
        data, log = Path(folder) / "perf.data", Path(folder) / "log"
        command = ["perf", "record", "-a", *_events_but_own(), "-o", str(data), "-m", "16M", *options]
        with log.open("w") as output:
            perf = subprocess.Popen(_with_own_pid(command), stdout=output, stderr=output)
        time.sleep(1)
        before = _cpu(perf.pid)
        yield recorded
        recorded.cpu = _cpu(perf.pid) - before
        perf.send_signal(signal.SIGINT)
        perf.wait()
        stats = subprocess.run(
            ["perf", "report", "--stats", "-i", str(data)], capture_output=True, text=True, check=False
        ).stdout
        recorded.bytes = data.stat().st_size
        recorded.events = _figure(stats, r"SAMPLE events:\s+(\d+)")
        recorded.lost = _figure(stats, r"LOST_SAMPLES events:\s+(\d+)") + _figure(log.read_text(), r"lost (\d+) chunks")


def _events_but_own() -> list[str]:
    """As ours does, perf leaves out what it does itself: else each write of its own makes an event to write."""
    return [word for event in _EVENTS for word in ("-e", event, "--filter", "common_pid != PID")]


def _with_own_pid(command: list[str]) -> list[str]:
    """The command with its own process' number for PID."""
    words = " ".join(shlex.quote(word).replace("PID", "'$$'") for word in command)
    return ["sh", "-c", f"exec {words}"]


def perf_plain(_pid: int) -> AbstractContextManager[Recorded]:
    return _perf([])


def perf_dwarf(_pid: int) -> AbstractContextManager[Recorded]:
    return _perf(["--call-graph", "dwarf,4096"])


@contextmanager
def strace(pid: int) -> Iterator[Recorded]:
    recorded = Recorded()
    with tempfile.NamedTemporaryFile("r") as output:
        tracer = subprocess.Popen(["strace", "-c", "-f", "-p", str(pid), "-o", output.name], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        before = _cpu(tracer.pid)
        yield recorded
        recorded.cpu = _cpu(tracer.pid) - before
        tracer.terminate()  # it goes on ignoring SIGINT where that was ignored before
        try:
            tracer.wait(5)
        except subprocess.TimeoutExpired:  # of threads that ended together it may wait for one for ever
            tracer.kill()
            tracer.wait()
        recorded.events = _figure(output.read(), r"^100\.00\s+\S+\s+\S+\s+(\d+).*total")


TOOLS = {
    "none": none,
    "whyperf": ours,
    "unshed": ours_unshed,
    "perf": perf_plain,
    "perf dwarf": perf_dwarf,
    "strace -c": strace,
}


def can_use_tracepoints() -> bool:
    """Mounts tracefs if nobody has done so: perf needs it."""
    if not (_TRACING / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(_TRACING)], check=False, stderr=subprocess.DEVNULL)
    return (_TRACING / "events").is_dir()


def _figure(text: str, pattern: str) -> int:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found[1]) if found else 0


def _cpu(pid: int) -> float:
    """Of all threads of a process; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _record_until_interrupted(folder: Path, budget: float) -> None:
    from whyperf.collect._tracer import Tracer

    signal.signal(signal.SIGINT, signal.default_int_handler)
    tracer = Tracer(_RING, 99, "all", None, folder, shed_budget=budget, paused=True)
    for pid in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]:
        with suppress(OSError):
            tracer.learn(pid)
    tracer.resume()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print("ready", flush=True)
    try:
        while True:
            tracer.serve(200)
    except KeyboardInterrupt:
        tracer.pause()
    done = resource.getrusage(resource.RUSAGE_SELF)
    counters = tracer.counters()
    levels = [after for *_, after in tracer.sheds()]
    print(
        json.dumps(
            {
                "cpu": done.ru_utime + done.ru_stime - usage.ru_utime - usage.ru_stime,
                "events": counters["events"],
                "bytes": 96 * counters["events"] + counters["stack_bytes"],
                "lost": counters["runs_missed"] + counters["notices_lost"],
                "shed": max(levels, default=0),
            }
        )
    )
    tracer.close()


if __name__ == "__main__":
    _record_until_interrupted(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else _BUDGET)
