"""Observed runs: what a program holds at chosen instructions, who writes to chosen addresses, and values forced."""

from whyperf.collect.observation.run import observe
from whyperf.collect.observation.sites import (
    MOST_IN_ORDER,
    Forced,
    ObservationLimits,
    Observed,
    ObservedMemory,
    ObservedSite,
    Watch,
)

__all__ = [
    "MOST_IN_ORDER",
    "Forced",
    "ObservationLimits",
    "Observed",
    "ObservedMemory",
    "ObservedSite",
    "Watch",
    "observe",
]
