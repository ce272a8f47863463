"""pytest-benchmark: a real run of it is recorded, and only its measured calls are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from whyperf.collect.runs.runner import record_run
from whyperf.collect.setup.lifecycle import Lifecycle, Measuring
from whyperf.collect.target.program import find_program
from whyperf.comparison.adapting import adapted
from whyperf.comparison.alternation import Side
from whyperf.comparison.plan import ComparisonPlan
from whyperf.errors import WhyperfError

BESIDE_S = 2  # CPU time before the calls, and after them
TESTS = f"""\
import atexit, time
def churn(n):
    x = 1
    for i in range(n):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x

def spin():
    end = time.process_time() + {BESIDE_S}
    while time.process_time() < end: pass

spin(); atexit.register(spin)

def test_churn(benchmark):
    benchmark.pedantic(churn, (100000,), rounds=10, iterations=2)

def test_more(benchmark):
    benchmark.pedantic(churn, (100000,), rounds=30, iterations=2)

def test_other():
    raise AssertionError("not a benchmark")
"""


def record(tmp_path: Path, name: str) -> tuple[float | None, float, WhyperfError | None]:
    """Units of work, CPU time and what failed."""
    (tmp_path / "test_it.py").write_text(TESTS)
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    program = find_program(words, os.environ, tmp_path)
    place = tmp_path / str(len(list(tmp_path.iterdir())))
    scratch = place / "scratch"
    scratch.mkdir(parents=True)
    sides = {Side.GOOD: program}
    plan = ComparisonPlan(
        sides, dict.fromkeys(sides, Lifecycle()), Measuring(values_depth=0), tmp_path, 1, False, False
    )
    plan = adapted(plan, name, scratch, os.environ)
    outcome = record_run(
        plan.programs[Side.GOOD],
        place / "recording",
        lifecycle=plan.lifecycles[Side.GOOD],
        measuring=plan.measuring,
        environment={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        capture_output=True,
    )
    return outcome.work, outcome.totals.cpu_s, outcome.failure


def test_calls_are_units_and_nothing_else_is_in_the_window(tmp_path: Path) -> None:
    few, few_s, failure = record(tmp_path, "test_churn")
    more, more_s, _ = record(tmp_path, "test_it.py::test_more")
    assert failure is None
    assert few == pytest.approx(20, abs=2) and more == pytest.approx(60, abs=2)
    assert 0 < few_s < BESIDE_S and 0 < more_s < BESIDE_S, (few_s, more_s)


def test_a_benchmark_that_is_not_there_is_told(tmp_path: Path) -> None:
    work, _, failure = record(tmp_path, "test_absent")
    assert work is None and failure is not None
