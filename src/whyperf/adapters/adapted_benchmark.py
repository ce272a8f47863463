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
    """Iterations are counted by `iterations` when a run has ended, or by what `drive` prints while it goes on."""

    command: tuple[str, ...]
    missing: WhyperfError  # what a run that reports none means
    iterations: Callable[[Path], float | None] | None = None  # of the run recorded in this folder
    ready: str | None = None  # when the measured loop begins, as `--ready` has it; None: at once
    drive: str | None = None  # ends when the measured loop ends, as `--drive` has it; None: when the program ends
