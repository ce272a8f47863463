"""CPU time without samples: said beyond what chance explains, and why."""

from __future__ import annotations

import pytest

from whyperf.seal.summary import unsampled_cpu_s, why_unsampled


@pytest.mark.parametrize(
    ("cpu_s", "sampled_s", "threads", "missing"),
    [
        (1.0, 1.0, 1, 0.0),
        (1.0, 1.2, 1, 0.0),  # more than was used, by chance
        (1.0, 0.91, 1, 0.0),
        (1.0, 0.5, 1, 0.5),
        (0.02, 0.0, 1, 0.0),  # four samples too few
        (1.0, 0.5, 10_000, 0.0),  # half a sample a thread
    ],
)
def test_only_what_chance_does_not_explain(cpu_s: float, sampled_s: float, threads: int, missing: float) -> None:
    assert unsampled_cpu_s(cpu_s, sampled_s, 0.005, threads) == missing


def test_why() -> None:
    assert "not followed" in why_unsampled(1.0, 2.0, 1, unfollowed=3)
    assert "fork()" in why_unsampled(1.0, 2.0, 1, unfollowed=0)
    assert why_unsampled(1.0, 2.0, 1000, unfollowed=0) == ""
    # AND threads that the program kept from being sampled explain no more than they can have used
    assert why_unsampled(1.0, 2.0, 1, unfollowed=0, limited_s=1.5) == ""
    assert "fork()" in why_unsampled(1.0, 2.0, 1, unfollowed=0, limited_s=0.5)
