"""How the budget is divided between a proof that the user wants and what comes before it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.report import verdicts
from whyperf.cli import further_passes
from whyperf.cli.diagnose import ShownVerdict
from whyperf.cli.further_passes import First, FurtherPasses
from whyperf.collect.setup.lifecycle import Measuring
from whyperf.comparison.alternation import Side
from whyperf.comparison.passes import Pass
from whyperf.comparison.plan import ComparisonPlan
from whyperf.diagnose.verdict import Verdict
from whyperf.investigation.so_far import TriedFunctions


class _Answer(Namespace):
    verdict: Verdict
    step: None


class _Clock:
    """Time goes by with the passes only."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def _passes(
    monkeypatch: pytest.MonkeyPatch, *, budget: float, prove: bool, counting_s: float, **measured: Any
) -> list[tuple[str, float]]:
    """Which passes are made of a comparison whose pairs took 10 s, and how much time each had."""
    made: list[tuple[str, float]] = []
    clock = _Clock()
    ends = clock.now + budget

    def take(_self: FurtherPasses, kind: Pass, recorded: Any, answer: Any, _runs: int | None) -> Any:
        made.append((kind.value, ends - clock.now))
        clock.now += counting_s
        return recorded, answer

    def functions(_self: FurtherPasses, _answer: Any, until: float) -> TriedFunctions:
        made.append(("functions", until - clock.now))
        return TriedFunctions()

    def proven(_self: FurtherPasses, answer: Any, until: float, _functions: Any) -> Any:
        made.append(("proof", until - clock.now))
        return answer

    monkeypatch.setattr(further_passes, "time", clock)
    monkeypatch.setattr(FurtherPasses, "_take", take)
    monkeypatch.setattr(FurtherPasses, "_functions", functions)
    monkeypatch.setattr(FurtherPasses, "_proven", proven)
    measuring = Measuring(**measured)
    plan = Namespace(adapted=None, measuring=measuring, counts=False, runs=3)
    args = Namespace(prove=prove, budget=budget, trace=False)
    passes = FurtherPasses(cast(ComparisonPlan, plan), args, lambda one: one, {Side.GOOD: [], Side.BAD: []})
    first = First({side: [Path("a")] for side in Side}, 30.0, 3)
    passes.judge(first, cast(ShownVerdict, _Answer(verdict=verdicts.difference(), step=None)))
    return made


def test_half_of_the_time_is_kept_for_a_proof_that_the_user_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN that counting takes about 20 s
    made = _passes(monkeypatch, budget=60.0, prove=True, counting_s=20.0)
    assert made == [("functions", 60.0), ("counts", 60.0), ("proof", 40.0)]
    # WHEN half of the time is less than that, THEN it is not begun, and the proof is tried nevertheless
    made = _passes(monkeypatch, budget=30.0, prove=True, counting_s=20.0)
    assert made == [("functions", 30.0), ("proof", 30.0)]


def test_by_itself_a_proof_is_made_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _passes(monkeypatch, budget=30.0, prove=False, counting_s=20.0) == [("counts", 30.0)]
    # THEN of two builds functions come first where six pairs fit
    made = _passes(monkeypatch, budget=60.0, prove=False, counting_s=20.0)
    assert made == [("functions", 60.0), ("counts", 60.0)]
    made = _passes(monkeypatch, budget=400.0, prove=False, counting_s=20.0)
    assert made == [("functions", 400.0), ("counts", 400.0), ("proof", 380.0)]


@pytest.mark.parametrize("withheld", [{"redact": True}, {"excluded_variables": ("pin*",)}, {"values_depth": 0}])
def test_values_that_shall_not_be_seen_are_forced_only_if_the_user_asks(
    monkeypatch: pytest.MonkeyPatch, withheld: dict[str, Any]
) -> None:
    made = _passes(monkeypatch, budget=400.0, prove=False, counting_s=20.0, **withheld)
    assert made == [("counts", 400.0)]
    made = _passes(monkeypatch, budget=400.0, prove=True, counting_s=20.0, **withheld)
    assert made[-1][0] == "proof"
