"""In which order good and bad runs are made: alternated, so that a machine that warms up or gets busy hits both."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

_SHORT_S = 30.0
_MEDIUM_S = 120.0


class Side(Enum):
    GOOD = "good"
    BAD = "bad"


def pair(number: int) -> tuple[Side, Side]:
    """The runs of the pair with this number, counted from 0; which comes first alternates too."""
    return (Side.GOOD, Side.BAD) if number % 2 == 0 else (Side.BAD, Side.GOOD)


def order(pairs: int) -> Iterator[tuple[Side, int]]:
    """Sides with the run's number, counted from 1."""
    for number in range(pairs):
        for side in pair(number):
            yield side, number + 1


def pairs_for(longest_run_s: float) -> int:
    """How many pairs are worth waiting for, when the user did not say."""
    if longest_run_s < _SHORT_S:
        return 3
    return 2 if longest_run_s < _MEDIUM_S else 1
