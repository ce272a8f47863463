"""What other tools put first for the bad command."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.situations.situation import Commands

_LONGEST_S = 120
_CALL = re.compile(r"^\s+(\w+)\s+(\d+)\s+\d+\s+([\d.]+)", re.MULTILINE)  # of `perf trace -s`: call, calls, errors, ms
_COUNTED = re.compile(r"^\s*([\d.]+)\s+([\d.]+)\s+\d+\s+\d+\s+(?:\d+\s+)?(\w+)$", re.MULTILINE)  # of `strace -c`


def perf_trace(commands: Commands) -> str:
    if shutil.which("perf") is None:
        return "not installed"
    said = _run(["perf", "trace", "-s", "-o", "{out}", "--"], commands)
    totals: dict[str, float] = {}
    for call, _, milliseconds in _CALL.findall(said):
        totals[call] = totals.get(call, 0.0) + float(milliseconds)
    return _top(totals, "ms")


def strace(commands: Commands) -> str:
    if shutil.which("strace") is None:
        return "not installed"
    said = _run(["strace", "-f", "-c", "-w", "-o", "{out}"], commands)
    return _top({call: float(seconds) for _, seconds, call in _COUNTED.findall(said) if call != "total"}, "s")


_OFF_CPU = """
tracepoint:sched:sched_switch {
  if (args->prev_state != 0) { @began[args->prev_pid] = nsecs; @at[args->prev_pid] = ustack(perf, 3); }
  $next = args->next_pid;
  if (@began[$next]) {
    @off[args->next_comm, @at[$next]] = sum(nsecs - @began[$next]);
    delete(@began[$next]);
  }
}
END { clear(@began); clear(@at); }
"""
_ROW = re.compile(r"^@off\[([^,]+), ?\n(.*?)\n?\]: (\d+)", re.MULTILINE | re.DOTALL)


def offcputime(commands: Commands) -> str:
    """What the `offcputime` of bpftrace puts first of the program while the bad command runs."""
    tool = shutil.which("bpftrace")
    if tool is None:
        return "not installed"
    with tempfile.TemporaryFile("w+") as out:
        watching = subprocess.Popen([tool, "-q", "-e", _OFF_CPU], stdout=out, stderr=subprocess.STDOUT)
        time.sleep(5)
        _run([], commands)
        watching.send_signal(signal.SIGINT)
        try:
            watching.wait(60)
        except subprocess.TimeoutExpired:
            watching.kill()
            watching.wait()
        out.seek(0)
        said = out.read()
    name = Path(shlex.split(commands.bad)[0]).name[:15]
    own = [(int(value), stack.split()) for comm, stack, value in _ROW.findall(said) if comm == name]
    if not own:
        return "nothing of the program"
    value, stack = max(own)
    frames = [word for word in stack if not word.startswith(("(", "0x")) and not set(word) <= set("0123456789abcdef")]
    return f"{' < '.join(frames[:2]) or 'no stack'} {value / 1e9:.2f} s"


def _top(totals: dict[str, float], unit: str) -> str:
    best = max(totals, key=lambda call: totals[call], default="")
    return f"{best} {totals[best]:.3g} {unit}" if best else "nothing"


def _run(under: Sequence[str], commands: Commands) -> str:
    """The bad command under a tool, driven if it is a server; what the tool wrote."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [word.replace("{out}", str(out)) for word in under] + shlex.split(commands.bad)
        started = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if commands.drive:
                time.sleep(2)
                driven = subprocess.run(shlex.split(commands.drive), stdout=subprocess.DEVNULL, check=False)
                if driven.returncode:
                    return ""
                _interrupt_children(started)
            started.wait(_LONGEST_S)
        except subprocess.TimeoutExpired:
            started.terminate()
            started.wait(10)
        return out.read_text(errors="replace") if out.exists() else ""


def _interrupt_children(started: subprocess.Popen[bytes]) -> None:
    """A server ends, and the tool that watches it writes what it has seen."""
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
    own = [int(word) for word in children.read_text().split()] if children.exists() else []
    for pid in own or [started.pid]:
        subprocess.run(["kill", "-INT", str(pid)], check=False)
