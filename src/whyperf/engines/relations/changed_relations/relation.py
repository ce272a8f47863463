"""Relations that changed, and the decision each of them belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.engines.relations.changed_relations.changed import Counts
from whyperf.engines.relations.changed_relations.fanout import Edge
from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom


@dataclass(frozen=True, eq=False)
class EdgeChange:
    """R>(child | parent): how many children an instance of the parent has."""

    edge: Edge
    good: Counts
    bad: Counts


@dataclass(frozen=True, eq=False)
class Forward(EdgeChange):
    """A change that may explain the symptom's."""

    contribution: float
    """To the symptom's change, in its unit; positive if it makes what is watched larger."""
    symptom: RelationSymptom
    parents: float
    """Instances of the parent in a bad run."""
    left_early: bool = False
    """Of the way on which one run left before it came to the child (see `early_exit`)."""


@dataclass(frozen=True, eq=False)
class Backward:
    """R<(producer | symptom): in which share of the tests on the way to the symptom its value was looked at."""

    producer: int  # place, or function
    is_function: bool
    good: float
    bad: float
    tests: tuple[int, int]
    distance: float
    contribution: float
    symptom: RelationSymptom
    executions: tuple[float, float]
    """Of the producer, per run."""


Relation = Forward | Backward


@dataclass(frozen=True, eq=False)
class BranchDecision:
    """A branch or loop, or (`branch` is NONE) a call that happens more or less often: what a candidate is."""

    branch: int  # decision of the catalogue; NONE for calls
    called: int  # class of the region called; NONE for branches
    depth: int  # from the root, on the way to the symptom
    relations: tuple[Relation, ...]

    @property
    def forward(self) -> tuple[Forward, ...]:
        return tuple(relation for relation in self.relations if isinstance(relation, Forward))

    @property
    def backward(self) -> tuple[Backward, ...]:
        return tuple(relation for relation in self.relations if isinstance(relation, Backward))
