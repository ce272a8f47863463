"""What a comparison needs to know of one benchmark of a framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from whyperf.errors import WhyperfError

UNIT = "iteration"
READY_TIMEOUT_S = 600.0  # a framework may collect, import and warm up before its measured loop begins


@dataclass(frozen=True)
class Adapted:
    command: tuple[str, ...]
    iterations: Callable[[Path], float | None]  # of the run recorded in this folder; None where it did not report any
    missing: WhyperfError  # what a run that reports none means
    ready: str | None = None  # when the measured loop begins, as `--ready` has it; None: at once
