"""How changed calls are told."""

from __future__ import annotations

import pytest

from whyperf.diagnose.engine_claims.call_counts import calls_and_before


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        (71, 8000, "8,000 times per call; was 71"),
        (0.001, 1.0, "once per call; was once in 1,000 calls"),
        (0, 0.9993, "almost once per call; it did not before"),
        (0.4998, 0.5, "0.50 times per call, 0.04% more often than before"),
        (2.002, 2.0, "2 times per call, 0.1% less often than before"),
        (0.001, 0.0010004, "once in 1,000 calls, 0.04% more often than before"),
        (0.001, 0.05, "once in 20 calls; was once in 1,000 calls"),
        (0.5, 0.05, "once in 20 calls; was 0.50 times per call"),
        (0.05, 0.5, "0.50 times per call; was once in 20 calls"),
        (0.9993, 1.0, "once per call; was almost once per call"),
        (1.0, 1.0004, "slightly more than once per call; was once per call"),
    ],
)
def test_calls_per_call_and_what_they_were(was: float, now: float, told: str) -> None:
    assert calls_and_before(was, now) == told
