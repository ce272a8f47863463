"""The schemas of what whyperf writes, as they are installed."""

import json
from importlib import resources
from typing import Any


def verdict_schema() -> dict[str, Any]:
    return _installed("whyperf.report", "verdict.schema.json")


def ci_schema() -> dict[str, Any]:
    return _installed("whyperf.ci", "report.schema.json")


def _installed(package: str, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
    return loaded
