"""Running one side without whyperf, alone or within another tool: servers are driven and ended."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

from bench.cache import SubjectError
from bench.contexts.case import Side
from bench.server import wait_for_port

_LONGEST_S = 60


def run_side(side: Side, ready: str, tool: list[str] | None = None) -> None:
    """`tool` is put before the command and starts it as its own child, as perf does."""
    command = [*side.around, *(tool or []), *side.command]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if ready:
            _wait_until(ready)
            subprocess.run(side.drive, check=True, stdout=subprocess.DEVNULL, timeout=_LONGEST_S)
            os.kill(_first_child(process.pid) if tool else process.pid, signal.SIGTERM)
        process.wait(_LONGEST_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_until(ready: str) -> None:
    kind, _, what = ready.partition(":")
    if kind == "tcp":
        wait_for_port(int(what))
        return
    end = time.monotonic() + _LONGEST_S
    while subprocess.run(shlex.split(what), check=False).returncode:
        if time.monotonic() > end:
            raise SubjectError(f"`{what}` does not succeed.")
        time.sleep(0.05)


def _first_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
