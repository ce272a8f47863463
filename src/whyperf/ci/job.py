"""All benchmarks of a change, one after the other, until the budget ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whyperf.ci.benchmark import Benchmark
from whyperf.ci.policy import FailOn
from whyperf.ci.result import BenchmarkRevision, Report, Result
from whyperf.ci.running import Ground, run_benchmark
from whyperf.ci.state import BenchmarkState
from whyperf.comparison.alternation import Side
from whyperf.comparison.progress import Steps
from whyperf.revisions.git import Repository, commit_of


def run_job(
    benchmarks: Sequence[Benchmark],
    repository: Repository,
    base: str,
    head: str,
    *,
    budget_s: float,
    fail_on: FailOn,
    recordings: Path | None,
    configuration: str,
    lines: Mapping[str, int],
    environment: Mapping[str, str],
    shown: Steps,
) -> Report:
    """`base` and `head` are commits; `configuration` is the file that names the benchmarks, `lines` where in it.

    An interrupted job has a report, too, with what was finished.
    """
    began = time.monotonic()
    ground = Ground(repository, {Side.GOOD: base, Side.BAD: head}, recordings, budget_s, began + budget_s, environment)
    results, interrupted = list[Result](), False
    try:
        for benchmark in benchmarks:
            results.append(run_benchmark(benchmark, ground, shown))
    except KeyboardInterrupt:
        interrupted = True
    left = benchmarks[len(results) :]
    results += [Result(one, BenchmarkState.INSUFFICIENT, "Interrupted before it was judged.") for one in left]
    return Report(
        _revision(repository, base),
        _revision(repository, head),
        tuple(_placed(result, lines) for result in results),
        budget_s,
        time.monotonic() - began,
        fail_on,
        configuration,
        interrupted,
    )


def _revision(repository: Repository, commit: str) -> BenchmarkRevision:
    found = commit_of(repository, commit)
    return BenchmarkRevision(found.commit, found.subject)


def _placed(result: Result, lines: Mapping[str, int]) -> Result:
    return replace(result, line=lines.get(result.benchmark.name, 1))
