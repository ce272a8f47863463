"""What makes a job fail."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from whyperf.ci.state import BenchmarkState

SLOWER_STATUS = 5  # as of `diagnose --fail-if-slower`
DOUBT_STATUS = 4
FAILED_STATUS = 1


class FailOn(Enum):
    SLOWER = "slower"
    ANY_DOUBT = "any-doubt"
    NEVER = "never"


def exit_status(states: Iterable[BenchmarkState], fail_on: FailOn) -> int:
    """Of the job: a benchmark that cannot run fails it under every policy but `never`."""
    found = set(states)
    if fail_on is FailOn.NEVER:
        return 0
    if BenchmarkState.SLOWER in found:
        return SLOWER_STATUS
    if BenchmarkState.FAILED in found:
        return FAILED_STATUS
    return DOUBT_STATUS if fail_on is FailOn.ANY_DOUBT and BenchmarkState.INSUFFICIENT in found else 0
