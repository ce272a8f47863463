"""A project's benchmarks, as its configuration names them."""

from __future__ import annotations

from dataclasses import dataclass, field

from whyperf.ci.policy import FailOn
from whyperf.collect.setup.lifecycle import Lifecycle

DEFAULT_THRESHOLD = 0.05  # less is never called a difference: see diagnose/settings.py
DEFAULT_RUNS = 5
DEFAULT_BUDGET_S = 20 * 60.0


@dataclass(frozen=True)
class Benchmark:
    name: str
    command: str
    build: str | None = None
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    unit: str | None = None  # what a unit of work is called
    work_count: str | None = None  # the function whose calls are units
    latency: str | None = None  # the same, and its calls are timed
    inner: str | None = None  # one benchmark of a framework's many, see `whyperf.adapters`
    threshold: float = DEFAULT_THRESHOLD  # relative change below which nobody is told
    runs: int = DEFAULT_RUNS  # pairs, as far as the budget permits


@dataclass(frozen=True)
class Configuration:
    benchmarks: tuple[Benchmark, ...]
    budget_s: float = DEFAULT_BUDGET_S
    fail_on: FailOn | None = None
