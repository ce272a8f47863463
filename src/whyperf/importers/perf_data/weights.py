"""How much time a sample stands for.

An event that counts time says so itself: its period is nanoseconds. One that counts cycles does not say how long a
cycle took. Where perf held a frequency, as many samples came in a second as it was asked for; where the period was
fixed, the shortest usual distance between two samples of a thread that ran on is what a period takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whyperf.importers.perf_data.attributes import Attributes
from whyperf.importers.perf_data.samples import Samples

# By preference: the first kind that has samples is the one that is used, since all of them count the same time.
_TIME = (("cpu-clock",), ("task-clock",), ("cycles", "cpu-cycles"), ("ref-cycles",))
_IN_NANOSECONDS = ("cpu-clock", "task-clock")


@dataclass(frozen=True)
class CpuSamples:
    """The samples that stand for CPU time."""

    rows: npt.NDArray[np.int64]
    weight: npt.NDArray[np.int64]  # nanoseconds
    rate_hz: float  # samples a second of CPU time
    events: tuple[int, ...]  # which events they are of


def _counts_any(event: Attributes, names: tuple[str, ...]) -> bool:
    # Events of a certain unit are called `cpu_atom/cycles/`.
    return any(part in names for part in event.counts.split("/"))


def timed_samples(samples: Samples, events: Sequence[Attributes]) -> CpuSamples:
    """Idle CPUs are sampled too: what the idle task did is no CPU time."""
    seen = np.bincount(samples["event"], minlength=len(events))
    for names in _TIME:
        chosen = tuple(
            number
            for number, one in enumerate(events)
            if seen[number] and not one.is_tracepoint and _counts_any(one, names)
        )
        if chosen:
            break
    else:
        return CpuSamples(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, ())
    rows = np.flatnonzero(np.isin(samples["event"], chosen) & (samples["tid"] != 0))
    weight = np.zeros(len(rows), np.float64)
    for number in chosen:
        mine = samples["event"][rows] == number
        weight[mine] = _nanoseconds(samples[rows[mine]], events[number])
    whole = np.rint(weight).astype(np.int64)
    total = float(whole.sum())
    return CpuSamples(rows, whole, len(rows) * 1e9 / total if total else 0.0, chosen)


def _nanoseconds(samples: Samples, event: Attributes) -> npt.NDArray[np.float64]:
    period = samples["period"].astype(np.float64)
    if not period.any():
        period[:] = event.period or 1.0
    if _counts_any(event, _IN_NANOSECONDS):
        # Without periods in the samples: of a frequency only its inverse is known.
        known = samples["period"].any() or event.period
        each = 1.0 if known else 1e9 / max(event.frequency, 1)
    elif event.frequency:
        each = len(period) * 1e9 / event.frequency / float(period.sum())
    else:
        each = _nanoseconds_a_count(samples, period)
    weight: npt.NDArray[np.float64] = period * each
    return weight


def _nanoseconds_a_count(samples: Samples, period: npt.NDArray[np.float64]) -> float:
    """From samples of the same thread that follow one another on the same CPU."""
    order = np.lexsort((samples["time"], samples["tid"], samples["cpu"]))
    ordered = samples[order]
    same = (ordered["tid"][1:] == ordered["tid"][:-1]) & (ordered["cpu"][1:] == ordered["cpu"][:-1])
    passed = np.diff(ordered["time"].astype(np.int64))[same]
    counted = period[order][1:][same]
    rates = passed[counted > 0] / counted[counted > 0]
    # Half of the pairs were not interrupted, or nearly all were and nothing better is known.
    return float(np.median(rates)) if len(rates) else 1.0
