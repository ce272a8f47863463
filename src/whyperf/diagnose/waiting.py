"""What a program that waits longer seems to wait for, as far as totals tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whyperf.diagnose.measures import Measures
from whyperf.diagnose.settings import DiagnoseSettings
from whyperf.engines.run import Run
from whyperf.recording.manifest import Totals


def wait_kind(good: Sequence[Run], bad: Sequence[Run], measures: Measures, settings: DiagnoseSettings) -> str:
    """`memory` or `io` when paging or transferred bytes explain a good part of the added wall time, else `wait`."""

    def added(figure: Callable[[Totals], float]) -> float:
        means = [
            sum(figure(run.manifest.totals) / (run.work.count if measures.per_unit else 1.0) for run in side)
            / len(side)
            for side in (good, bad)
        ]
        return means[1] - means[0]

    enough = settings.io_part * measures.wall.excess
    if added(lambda totals: totals.major_faults) * settings.major_fault_s >= enough:
        return "memory"
    if added(lambda totals: totals.read_bytes + totals.written_bytes) * settings.io_s_per_byte >= enough:
        return "io"
    return "wait"
