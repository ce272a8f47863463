"""What the memory engine measured of a finding."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.finding import Detail
from whyperf.engines.memory.values import ChangedValue


@dataclass(frozen=True, kw_only=True)
class MemoryDetail(Detail):
    good_live_bytes: float  # at the peak
    bad_live_bytes: float
    good_kept_bytes: float  # at the end
    bad_kept_bytes: float
    good_allocations: float
    bad_allocations: float
    good_allocated_bytes: float
    bad_allocated_bytes: float
    good_touched_bytes: float
    bad_touched_bytes: float
    reason: str
    sigma: float
    allocated_in: str
    code: str  # between two builds: changed, or unknown
    values: tuple[ChangedValue, ...]
    freed_in: str | None = None  # by good runs
    good_freed: float | None = None
    bad_freed: float | None = None
    no_longer_called: str | None = None  # by this function, or less often: it frees, or leads to what does
    good_calls: float | None = None  # of it per unit of work, where calls were counted
    bad_calls: float | None = None
