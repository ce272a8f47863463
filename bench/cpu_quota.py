"""A control group whose processes together get a part of a CPU, as in a small container."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from bench.cache import SubjectError

ROOT = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def cpu_quota(cpus: float, name: str = "quota") -> Iterator[Path]:
    """Every user may enter it, by version 2 of control groups or 1."""
    is_second = (ROOT / "cgroup.controllers").exists()
    group = (ROOT if is_second else ROOT / "cpu") / f"whyperf-bench-{os.getpid()}-{name}"
    try:
        group.mkdir()
        if is_second:
            (group / "cpu.max").write_text(f"{int(cpus * 100_000)} 100000")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text(str(int(cpus * 100_000)))
        (group / "cgroup.procs").chmod(0o666)
    except OSError as error:
        raise SubjectError(f"No control group with a CPU quota can be made here: {error}.") from None
    try:
        yield group
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()
