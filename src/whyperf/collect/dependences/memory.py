"""How much memory there is to read deep recordings with."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

EXECUTION_BYTES = 80
"""What an execution of a zoom and its dependences take while they are read, about."""


def available_bytes() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
