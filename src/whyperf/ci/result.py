"""What `whyperf ci` found, as its writers show it."""

from __future__ import annotations

from dataclasses import dataclass

from whyperf.ci.benchmark import Benchmark
from whyperf.ci.policy import FailOn
from whyperf.ci.state import BenchmarkState
from whyperf.diagnose.verdict import ChangedBy, Verdict
from whyperf.engines.finding import HotLine


@dataclass(frozen=True)
class Figures:
    """What a benchmark's runs took, per unit of work."""

    measure: str  # cpu_s, wall_s ...
    unit: str
    base: float
    head: float
    base_runs: tuple[float, ...]
    head_runs: tuple[float, ...]
    detectable: float  # smallest relative change that would have shown

    @property
    def relative(self) -> float:
        """The head's excess in units of the base's mean; infinite where the base took nothing."""
        if self.base > 0:
            return (self.head - self.base) / self.base
        return float("inf") if self.head > 0 else 0.0


@dataclass(frozen=True)
class Cause:
    function: str
    module: str
    file: str  # within the repository; empty where it is not
    line: int
    share: float  # of the change
    confidence: str
    why: str  # empty where the head is faster: the sentences are about what grew
    diff: tuple[str, ...] = ()  # lines of the change in it
    commits: tuple[ChangedBy, ...] = ()  # that changed it, or its nearest caller that changed
    lines: tuple[HotLine, ...] = ()
    evidence: tuple[str, ...] = ()  # more sentences


@dataclass(frozen=True)
class Result:
    benchmark: Benchmark
    state: BenchmarkState
    sentence: str
    figures: Figures | None = None
    causes: tuple[Cause, ...] = ()
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None  # of base against head; of head against base where that is faster
    seconds: float = 0.0  # that building, running and judging it took
    line: int = 1  # of the configuration file


@dataclass(frozen=True)
class BenchmarkRevision:
    commit: str
    subject: str

    @property
    def short(self) -> str:
        return self.commit[:10]


@dataclass(frozen=True)
class Report:
    base: BenchmarkRevision
    head: BenchmarkRevision
    results: tuple[Result, ...]
    budget_s: float
    seconds: float
    fail_on: FailOn
    configuration: str  # file, within the repository if it is there
    interrupted: bool = False

    def having(self, state: BenchmarkState) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.state is state)
