"""What can explain a symptom's change, and what only happened beside it."""

from __future__ import annotations

import numpy as np
import pytest

from whyperf.engines.relations.changed_relations.symptoms import RelationSymptom
from whyperf.engines.relations.reported.candidates import SymptomChange, most_explained
from whyperf.engines.relations.settings import RelationsSettings

GROWN, FALLEN = SymptomChange(100.0, 500.0), SymptomChange(500.0, 100.0)


def preventing(good: float, bad: float, polarity: int) -> RelationSymptom:
    """`polarity`: 1 if what it prevents makes the variable smaller, as marking prevents freeing."""
    nothing = np.zeros(1)
    return RelationSymptom("marks", polarity, nothing, nothing, good, bad, frozenset({7}), prevents=(7, 3))


@pytest.mark.parametrize(
    ("change", "good", "bad", "polarity", "explains"),
    [
        (GROWN, 10, 50, 1, 40),  # marked more often: less is freed
        (GROWN, 50, 10, 1, 0),  # marked less often: more should have been freed
        (GROWN, 50, 10, -1, 40),  # what prevents growth is missing
        (GROWN, 10, 50, -1, 0),
        (FALLEN, 50, 10, 1, 40),
        (FALLEN, 10, 50, 1, 0),
        (GROWN, 50, 52, 1, 0),  # hardly changed
    ],
)
def test_what_prevents_a_symptom_explains_only_a_change_the_other_way(
    change: SymptomChange, good: float, bad: float, polarity: int, explains: float
) -> None:
    assert most_explained(preventing(good, bad, polarity), change, RelationsSettings()) == explains
