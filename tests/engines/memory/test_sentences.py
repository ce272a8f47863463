"""What is said of a function that no longer calls who frees."""

from __future__ import annotations

import pytest

from whyperf.engines.memory.frees import FewerCalls
from whyperf.engines.memory.sentences import calls_less


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        (
            FewerCalls("drop", 60000.0, 0.0, "run"),
            "no longer calls drop, which frees it: 60,000 times in good runs, never now",
        ),
        (
            FewerCalls("drop", 2.0, 0.25, "request"),
            "calls drop, which frees it, less often: 0.25 times per request, was 2",
        ),
        (
            FewerCalls("shrink", 1.0, 0.0, "request"),
            "no longer calls shrink, which frees it: once per request in good runs, never now",
        ),
    ],
)
def test_calls_are_said_per_unit_of_work(calls: FewerCalls, said: str) -> None:
    assert calls_less(calls, resizes=False, allocates="it") == said
