"""Memory that no function handed out whose calls deep recordings count: the program may have another allocator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.run import Run, column


def memory_from_elsewhere(good: Sequence[Run], bad: Sequence[Run], settings: DiagnoseSettings) -> str | None:
    """Say that memory grew by more than all that malloc and its kin handed out; None where they may explain it."""
    peaks = [[run.manifest.totals.max_rss_bytes for run in side] for side in (good, bad)]
    if min(peaks[0] + peaks[1]) <= 0 or not all(run.recording.table("calls").num_rows for run in (*good, *bad)):
        return None
    handed_out = max(int(column(run.recording.table("calls"), "allocated").sum()) for run in bad)
    if min(peaks[1]) - max(peaks[0]) < max(settings.memory_bytes, handed_out):
        return None
    before, now = (float(np.mean(side)) for side in peaks)
    return (
        f"Peak memory went from {before / 1e6:,.0f} MB to {now / 1e6:,.0f} MB, but malloc and its kin handed out only "
        f"{handed_out / 1e6:,.0f} MB in all: the program has another allocator, or maps memory itself. Name the "
        "function that does it as the symptom."
    )
