"""How changed calls are told."""

from __future__ import annotations

import pytest

from tests.engines.call_counts.counted_recordings import counted
from tests.engines.made import Made, recording
from whyperf.diagnose.diagnosis import examine
from whyperf.diagnose.engine_claims.call_counts import calls_and_before
from whyperf.recording.sealed.manifest import Counting


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


def _counted(calls: dict[tuple[str, str], int]) -> Made:
    return counted(calls, counting=Counting(4, 4))


def test_exact_counts_decide_what_is_said_of_a_suspects_calls() -> None:
    # GIVEN a function that calls another one, from a loop, in which good runs were never seen
    base = [(("main", "serve*", "parse"), 4.0), (("main", "serve*", "plan"), 1.0)]
    good = [recording(base, also=("rebuild",)) for _ in range(3)]
    bad = [recording([*base, (("main", "serve*", "plan*", "rebuild"), 9.0)]) for _ in range(3)]
    # WHEN its calls are counted: never, once each time as in good runs, and now fifty times
    calls = {("main", "serve"): 1, ("serve", "parse"): 5, ("serve", "plan"): 5, ("plan", "rebuild"): 5}
    more = {**calls, ("plan", "rebuild"): 250}
    said = [
        examine([*good, *before], [*bad, *after]).verdict.suspects[0].why
        for before, after in (([], []), ([_counted(calls)], [_counted(calls)]), ([_counted(calls)], [_counted(more)]))
    ]
    # THEN only what the counts confirm is said
    assert ["in a loop" in one for one in said] == [True, False, True], said
    assert said[1].startswith("With what it calls it takes 10.0 s per run, not 1.00 s")
