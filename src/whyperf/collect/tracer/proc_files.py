"""What /proc says of processes, for events that know only their numbers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from whyperf.collect.tracer.traced import TracedProcess, TracedThread
from whyperf.collect.usage.totals import thread_names


def living_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def read_process(pid: int) -> TracedProcess | None:
    """None when it is gone."""
    folder = Path(f"/proc/{pid}")
    try:
        name = (folder / "comm").read_text(errors="replace").rstrip("\n")
        parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        words = (folder / "cmdline").read_bytes().split(b"\0")[:-1]
        cgroup = _cgroup((folder / "cgroup").read_text(errors="replace"))
    except (OSError, ValueError, IndexError):
        return None
    command = tuple(word.decode(errors="replace") for word in words)
    return TracedProcess(time.monotonic_ns(), pid, parent, name, _executable(folder), command, cgroup)


def read_threads(pid: int) -> Iterator[TracedThread]:
    for tid, name in thread_names(pid).items():
        yield TracedThread(pid, tid, name)


def _executable(folder: Path) -> str:
    """Empty for threads of the kernel, and for what may not be read."""
    try:
        return os.fsdecode(os.readlink(folder / "exe"))  # noqa: PTH115
    except OSError:
        return ""


def _cgroup(text: str) -> str:
    """The path in the one hierarchy of version 2; in version 1 the first that tells anything."""
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in text.splitlines())}
    return paths.get("") or next((path for path in paths.values() if path != "/"), "/")
