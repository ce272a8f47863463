"""The whole report as JSON: stable, described by `report.schema.json`; fields may be added, never changed."""

from __future__ import annotations

import json
from typing import Any

from whyperf.ci.policy import exit_status
from whyperf.ci.result import BenchmarkRevision, Cause, Figures, Report, Result
from whyperf.diagnose.verdict import ChangedBy
from whyperf.recording.safe_files.dataclass_json import to_plain
from whyperf.report.json import as_plain as verdict_as_plain
from whyperf.report.json import finite

FORMAT = 1


def to_json(report: Report) -> str:
    """ASCII only, whatever names there are."""
    return json.dumps(finite(as_plain(report)), indent=1, allow_nan=False) + "\n"


def as_plain(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "base": _revision(report.base),
        "head": _revision(report.head),
        "fail_on": report.fail_on.value,
        "exit_status": exit_status([result.state for result in report.results], report.fail_on),
        "interrupted": report.interrupted,
        "budget_s": report.budget_s,
        "seconds": report.seconds,
        "benchmarks": [_benchmark(result) for result in report.results],
    }


def _revision(revision: BenchmarkRevision) -> dict[str, Any]:
    return {"commit": revision.commit, "subject": revision.subject}


def _benchmark(result: Result) -> dict[str, Any]:
    return {
        "name": result.benchmark.name,
        "command": result.benchmark.command,
        "state": result.state.value,
        "sentence": result.sentence,
        "threshold": result.benchmark.threshold,
        "figures": None if result.figures is None else _figures(result.figures),
        "causes": [_cause(cause) for cause in result.causes],
        "notes": list(result.notes),
        "seconds": result.seconds,
        "verdict": None if result.verdict is None else verdict_as_plain(result.verdict),
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "measure": figures.measure,
        "unit": figures.unit,
        "base": figures.base,
        "head": figures.head,
        "relative": figures.relative,
        "base_runs": list(figures.base_runs),
        "head_runs": list(figures.head_runs),
        "detectable": figures.detectable,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "function": cause.function,
        "module": cause.module,
        "file": cause.file,
        "line": cause.line,
        "share": cause.share,
        "confidence": cause.confidence,
        "why": cause.why,
        "evidence": list(cause.evidence),
        "lines": to_plain(cause.lines),
        "diff": list(cause.diff),
        "commits": [_commit(one) for one in cause.commits],
    }


def _commit(changed: ChangedBy) -> dict[str, Any]:
    return {
        "commit": changed.commit,
        "author": changed.author,
        "subject": changed.subject,
        "function": changed.function,
        "file": changed.file,
    }
