"""SARIF 2.1.0: each slower benchmark at its suspect's line, as code scanning shows it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from whyperf.ci.links import quoted_path
from whyperf.ci.result import Cause, Report, Result
from whyperf.ci.state import BenchmarkState
from whyperf.engines.quantities import percent
from whyperf.report.printable import printable
from whyperf.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULE = "slower"
_ROOT = "%SRCROOT%"


def to_sarif(report: Report) -> str:
    return json.dumps(as_plain(report), indent=1) + "\n"


def as_plain(report: Report) -> dict[str, Any]:
    rule = {
        "id": RULE,
        "name": "SlowerThanBase",
        "shortDescription": {"text": "A benchmark is slower than at the base of the change."},
        "help": {"text": "The function takes more time than at the base: see the message for how much, and why."},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance"]},
    }
    tool = {"driver": {"name": "whyperf", "version": __version__, "semanticVersion": __version__, "rules": [rule]}}
    run = {
        "tool": tool,
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [{"executionSuccessful": not report.interrupted and not report.having(BenchmarkState.FAILED)}],
        "results": [_result(result, report) for result in report.having(BenchmarkState.SLOWER)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(result: Result, report: Report) -> dict[str, Any]:
    """At the first suspect in the repository; where there is none, where the benchmark is configured."""
    cause = next((one for one in result.causes if one.file), None)
    file, line = (cause.file, cause.line) if cause is not None else (report.configuration, result.line)
    identity = "\0".join([result.benchmark.name, cause.function if cause else "", file])
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "warning",
        "message": {"text": _message(result, cause)},
        "locations": [_location(file, line, cause)],
        "partialFingerprints": {"whyperf/v1": hashlib.sha256(identity.encode(errors="replace")).hexdigest()},
    }


def _message(result: Result, cause: Cause | None) -> str:
    said = f"Benchmark {result.benchmark.name} is slower: {result.sentence}"
    if cause is not None:
        said += f" {cause.function} explains {percent(cause.share)} of it. {cause.why}"
    elif result.causes:
        first = result.causes[0]
        said += f" {first.function}, which is not in this repository, explains {percent(first.share)} of it."
    return printable(said.rstrip())


def _location(file: str, line: int, cause: Cause | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quoted_path(file), "uriBaseId": _ROOT}}
    if line > 0:
        place["region"] = {"startLine": line}
    location: dict[str, Any] = {"physicalLocation": place}
    if cause is not None:
        location["logicalLocations"] = [{"name": printable(cause.function), "kind": "function"}]
    return location
