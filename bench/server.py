"""Servers under load, for tools that know nothing of them: start, wait until ready, drive, stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.cache import SubjectError


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def wait_for_port(port: int, timeout_s: float = 20.0) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise SubjectError(f"Nothing listens on port {port} after {timeout_s:.0f} s.")


def drive_once(
    command: list[str],
    ready: str,
    drive: list[str],
    folder: Path | None = None,
    look: Callable[[int], None] | None = None,
    *,
    limit_s: float | None = None,
) -> None:
    """Runs a server (or a tool around it) and its load, lets `look` see the server's pid, then ends the server. A load
    that takes longer than the limit is an error."""
    port = int(ready.removeprefix("tcp:"))
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port)
        subprocess.run(drive, check=True, stdout=subprocess.DEVNULL, timeout=limit_s)
        if look:
            look(innermost_child(server.pid))
    finally:
        os.kill(innermost_child(server.pid), signal.SIGTERM)
        server.wait()


def innermost_child(pid: int) -> int:
    """Follows first children down: the server itself when a tool was put before it."""
    while True:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return pid
        if not children:
            return pid
        pid = int(children[0])
