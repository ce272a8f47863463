"""Several starts are looked at in one pair of runs, and those that tell nothing come last."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from whyperf.collect.observation.run import observe
from whyperf.collect.setup.lifecycle import Lifecycle
from whyperf.collect.target.program import find_program
from whyperf.origin.ahead import tells_something
from whyperf.origin.evidence import Bounds, Observing, Targets
from whyperf.origin.search import KnownPrograms, search
from whyperf.origin.starts import start_at_calls, start_at_variable

_SOURCE = Path(__file__).parents[1] / "investigation" / "programs" / "names.c"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
]


@pytest.fixture
def names(tmp_path: Path) -> Path:
    subprocess.run(["gcc", "-g", "-O2", _SOURCE, "-o", tmp_path / "names"], check=True)
    return tmp_path / "names"


def _targets(names: Path) -> Targets:
    good, bad = (find_program([str(names), kind], os.environ) for kind in ("plain", "turned"))
    return Targets((good, bad), (Lifecycle(), Lifecycle()), dict(os.environ))


def test_starts_whose_values_differ_are_told_from_others(names: Path) -> None:
    targets = _targets(names)
    known = KnownPrograms(*targets.programs)
    starts = [
        start_at_variable(names, "main", "round"),  # the same in both runs
        start_at_variable(names, "find", "nobody"),
        start_at_variable(names, "find", "entry"),  # null, or the same list again and again
        start_at_calls(names, "names.c", 1, "strcmp"),
    ]
    bounds = Bounds(20, time.monotonic() + 60, 60)
    told, runs = tells_something(starts, targets, bounds, Observing(observe), known)
    assert told == [False, False, True, True] and runs == 2
    found = search(starts[2], *targets.programs, environment=targets.environment, known=known)
    alone = search(starts[2], *targets.programs, environment=targets.environment)
    assert found.origin.runs == alone.origin.runs - 2  # nobody looks there again


def test_without_runs_all_may_tell_something(names: Path) -> None:
    targets = _targets(names)
    starts = [start_at_variable(names, "find", name) for name in ("name", "entry")]
    bounds = Bounds(1, time.monotonic() + 60, 60)
    told, runs = tells_something(starts, targets, bounds, Observing(observe), KnownPrograms(*targets.programs))
    assert told == [True, True] and runs == 0
