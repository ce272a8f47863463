"""What the relations engine says of a changed relation, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whyperf.engines.finding import Detail


@dataclass(frozen=True)
class Distribution:
    """Of a count."""

    instances: int
    mean: float
    quantiles: tuple[int, ...]  # lowest, quarter, half, three quarters, highest


@dataclass(frozen=True)
class SymptomTotals:
    name: str
    good: float
    bad: float
    negation: bool


@dataclass(frozen=True)
class ShownSource:
    function: str
    file: str
    line: int
    new: bool  # only the bad build has it


@dataclass(frozen=True)
class ChangedCount:
    sentence: str
    good: Distribution
    bad: Distribution


@dataclass(frozen=True)
class ForwardChange(ChangedCount):
    left_early: bool


@dataclass(frozen=True)
class ShownProducer:
    """Who makes values that the decision looks at, and what part of its tests looked at them."""

    producer: str
    file: str
    line: int
    whole_function: bool
    good: float
    bad: float
    tests: tuple[float, ...]
    executions: tuple[float, ...]


@dataclass(frozen=True)
class RelationNode:
    name: str
    kind: str  # call, loop, iteration, branch, thread, signal, line, symptom
    function: str
    file: str
    line: int
    good: float  # how often, per run
    bad: float


@dataclass(frozen=True)
class RelationEdge:
    start: int  # number of a node
    end: int
    # contains: so many of the end per start; value: this share of the end's tests looked at the start's values
    kind: Literal["contains", "value"]
    good: float
    bad: float
    changed: bool


@dataclass(frozen=True)
class RelationGraph:
    nodes: tuple[RelationNode, ...]
    edges: tuple[RelationEdge, ...]


@dataclass(frozen=True, kw_only=True)
class RelationsDetail(Detail):
    symptom: SymptomTotals
    decision: str
    inlined: str | None
    cause: ShownSource | None
    origin: ShownSource | None
    forward: ForwardChange | None
    way_in: ChangedCount | None
    backward: tuple[ShownProducer, ...]
    effect_of: str
    graph: RelationGraph


@dataclass(frozen=True, kw_only=True)
class CountingDetail(Detail):
    """Calls per activation, or instructions per call."""

    calls: str | None  # None: its own work
    good_mean: float
    bad_mean: float
    good: Distribution | None
    bad: Distribution | None
