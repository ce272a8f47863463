"""A limit on the memory of a process and of the files that it maps, as containers have one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Limited:
    """A group of processes that may not use more memory together."""

    group: Path

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        enter = f'echo $$ > {self.group}/cgroup.procs && exec "$@"'
        return subprocess.run(["sh", "-c", enter, "sh", *command], capture_output=True, text=True, check=False)


@contextlib.contextmanager
def memory_limited(limit: int) -> Iterator[Limited]:
    """By version 2 of control groups, or 1; without swapping where that can be told."""
    if os.geteuid() != 0:
        pytest.skip("only root can limit the memory of a group of processes")
    second = "memory" in _words(_ROOT / "cgroup.controllers")
    group = (_ROOT if second else _ROOT / "memory") / f"whyperf-tests-{os.getpid()}"
    try:
        if second:
            (_ROOT / "cgroup.subtree_control").write_text("+memory")
        group.mkdir()
    except OSError as error:
        pytest.skip(f"the memory of a group of processes cannot be limited here: {error}")
    try:
        (group / ("memory.max" if second else "memory.limit_in_bytes")).write_text(str(limit))
        without_swap = group / ("memory.swap.max" if second else "memory.swappiness")
        if without_swap.exists():
            without_swap.write_text("0")
        yield Limited(group)
    finally:
        group.rmdir()


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []
