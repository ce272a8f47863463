"""What the contexts engine measured of a finding."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.contexts.layers import Layer
from whyperf.engines.finding import Detail, Finding


@dataclass(frozen=True)
class ShownWait:
    kind: str
    call: str  # empty: none
    seconds: tuple[float, float]  # good, bad
    count: tuple[float, float]


@dataclass(frozen=True)
class Latencies:
    """Of a function's instances in its heaviest context, inferred: means, good and bad."""

    conservative: tuple[float, float]
    aggressive: tuple[float, float]
    instances: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class LayerDetail(Detail):
    """Whose code it is, and who ran it."""

    process: str = ""  # empty: unknown
    thread: str = ""
    layer: Layer
    external: bool  # not made by who made the program


@dataclass(frozen=True, kw_only=True)
class ContextsDetail(LayerDetail):
    unit: str
    good_s: float
    bad_s: float
    sigma: float
    running_s: tuple[float, float]  # good, bad
    runnable_s: tuple[float, float]
    blocked_s: tuple[float, float]
    waits: tuple[ShownWait, ...]  # the longest
    other_side: str  # the program that it waits for; empty: unknown
    latency_s: Latencies


@dataclass(frozen=True, kw_only=True)
class PaperContextsDetail(LayerDetail):
    cost_s: float
    own_s: float


def layer_detail(finding: Finding) -> LayerDetail:
    """Of a finding of this engine."""
    assert isinstance(finding.detail, LayerDetail)
    return finding.detail
