"""One side of a case, run by another tool: servers are driven and ended, what takes too long is cut short."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress

from bench.cache import SubjectError
from bench.cases.case import Side
from bench.peers.peer import PeerError
from bench.server import innermost_child, wait_for_port

LIMIT_S = 300.0  # by the clock: a busy machine is no fault of the tool's
_WRITING_S = 60.0  # for what a tool does after the program's end


def installed(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise PeerError(f"{program} is not installed; on Debian: apt-get install {package}")
    return found


def run_under(
    tool: list[str],
    side: Side,
    ready: str = "",
    environment: Mapping[str, str] | None = None,
    *,
    cpu_limit_s: int | None = None,
    limit_s: float = LIMIT_S,
) -> bool:
    """Whether the program came to its own end (or its driver did); PeerError where it ended badly, TimeoutExpired where
    a server never was ready.

    At the CPU limit the kernel sends SIGXCPU, which ends the program but not what its tool does then.
    """
    limited = ["prlimit", f"--cpu={cpu_limit_s}:{cpu_limit_s + _WRITING_S:.0f}"] if cpu_limit_s else []
    command = [*limited, *tool, *side.command]
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        if ready:
            _wait_until_ready(process, int(ready.removeprefix("tcp:")))
        complete = _finish(process, side, ready, started + limit_s) and process.returncode != -signal.SIGXCPU
        if complete and not ready and process.returncode:
            raise PeerError(f"`{' '.join(command)}` ended with {process.returncode}.")
        return complete
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    try:
        wait_for_port(port, LIMIT_S)
    except SubjectError as error:
        raise subprocess.TimeoutExpired(process.args, LIMIT_S) from error


def _finish(process: subprocess.Popen[bytes], side: Side, ready: str, end: float) -> bool:
    complete = True
    try:
        if ready:
            left = max(1.0, end - time.monotonic())
            subprocess.run(side.drive, check=True, stdout=subprocess.DEVNULL, timeout=left)
        else:
            process.wait(max(1.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        complete = False
    if process.poll() is None:
        os.kill(innermost_child(process.pid), signal.SIGTERM)
        process.wait(_WRITING_S)
    return complete
