"""Runs a target that counts its own calls: the preloaded library writes the counters, the recorder how the run went."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whyperf.collect import _session
from whyperf.collect.counts.raw import COUNTERS, PLANS, keep_counts_so_far
from whyperf.collect.runs.unsampled_run import UnsampledRun
from whyperf.collect.setup.folder import RecordingFolder
from whyperf.collect.setup.run_log import cannot_be_written
from whyperf.collect.setup.start import Start
from whyperf.collect.target.program import Program
from whyperf.errors import WhyperfError

LIBRARY = Path(_session.__file__).parent / "libwhyperf_probes.so"


class CountsRecorder(UnsampledRun):
    """A `Recorder`."""

    def __init__(self, folder: RecordingFolder, start: Start, library: Path, plans: Iterable[Path]) -> None:
        super().__init__(folder, start, "--counts and --clock wall exclude each other: nothing is sampled.")
        self._library = library
        try:
            (self._raw / COUNTERS).mkdir(mode=0o700)
            (self._raw / PLANS).mkdir(mode=0o700)
            for plan in plans:
                _linked_or_copied(plan, self._raw / PLANS / plan.name)
        except OSError as error:
            raise cannot_be_written(folder, error) from None

    def started(self, program: Program) -> Program:
        """The program itself: the library comes with its environment."""
        return program

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        return {
            **base,
            "LD_PRELOAD": " ".join(filter(None, (str(self._library), base.get("LD_PRELOAD")))),
            "WHYPERF_COUNTS_PLANS": str(self._raw / PLANS),
            "WHYPERF_COUNTS_OUT": str(self._raw / COUNTERS),
        }

    def append(self, kind: str, **fields: Any) -> None:
        if kind == "ready":
            with contextlib.suppress(OSError, WhyperfError):  # then all of it is counted, and the log says so
                keep_counts_so_far(self._raw)
        super().append(kind, **fields)


def _linked_or_copied(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
