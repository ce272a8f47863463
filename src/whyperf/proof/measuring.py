"""How much of what the symptom is measured in a run needed."""

from __future__ import annotations

from whyperf.collect.observation.sites import Observed
from whyperf.diagnose.measured.latency import PREFIX
from whyperf.diagnose.measured.threads import queued_s
from whyperf.diagnose.verdict import PEAK_BYTES


def amount_of(seen: Observed, measure: str) -> float | None:
    """For each unit of work where somebody counts them, but for latency and memory. None: the run does not say."""
    totals = seen.totals
    if measure.startswith(PREFIX):
        which = float(measure.removeprefix(PREFIX).removesuffix("_s"))
        return None if totals.latency is None else totals.latency.percentile(which)
    if measure == PEAK_BYTES:
        return float(totals.max_rss_bytes) or None
    seconds = totals.cpu_s
    if measure in ("wall_s", "own_s"):
        queued = queued_s(totals, seen.stopped_by) if measure == "own_s" else 0.0
        seconds = max(0.0, totals.wall_s - (queued or 0.0))
    return seconds / seen.work if seen.work else seconds
