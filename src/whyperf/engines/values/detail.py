"""What the values engine measured of a finding."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.finding import Detail
from whyperf.engines.values.value_summary import ReadAt


@dataclass(frozen=True)
class VariableDetail:
    name: str
    roles: tuple[str, ...]
    dimension: str  # value, delta, duration
    distance: float  # Hellinger, 0 to 1
    distance_within_kind: float
    p: float | None  # None where whole runs stand apart
    anomaly: float  # 0 to 1
    abnormal_ranges: tuple[tuple[float, ...], ...]
    abnormal_share: float
    read_at: tuple[ReadAt, ...]


@dataclass(frozen=True, kw_only=True)
class ValuesDetail(Detail):
    pattern_evidence: str
    variables: tuple[VariableDetail, ...]


@dataclass(frozen=True, kw_only=True)
class PaperValuesDetail(Detail):
    method: str = "paper"
    raw_s: float
    calibrated_s: float
    discount: float
    variable: str | None
    dimension: str | None
    normal_range: tuple[float, ...] | None
    abnormal_range: tuple[float, ...] | None
    read_at: tuple[ReadAt, ...]
